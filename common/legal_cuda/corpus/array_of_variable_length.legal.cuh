__global__ void kernel(float* y) {
  float row[4];
  row[0] = y[0];
  y[1] = row[0];
}
