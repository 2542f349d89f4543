// expect: variable-length array
__global__ void kernel(float* y, int n) {
  float row[n];
  row[0] = y[0];
  y[1] = row[0];
}
