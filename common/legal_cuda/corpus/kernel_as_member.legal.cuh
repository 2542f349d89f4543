struct Layer {
  float* y;
};
__global__ void kernel(Layer layer) { layer.y[threadIdx.x] = 0.0f; }
