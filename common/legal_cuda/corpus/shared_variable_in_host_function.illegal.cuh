// expect: not allowed in __host__ functions
void start() {
  __shared__ float partial[32];
  partial[0] = 0.0f;
}
