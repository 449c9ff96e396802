/* benchmarks/serving/serve.c -- serve MODEL BATCH ROUNDS: microseconds of one call of carmina_predict with BATCH rows,
 * one line a round. Every row is another one. */
#include <carmina.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  const int64_t batch = atoll(words[2]), rounds = atoll(words[3]);
  const double begun = now();
  carmina_model* const model = carmina_load(words[1]);
  if (!model) {
    fprintf(stderr, "%s\n", carmina_last_error());
    return 1;
  }
  printf("load %.1f\n", now() - begun);
  const int64_t d = carmina_inputs(model), p = carmina_outputs(model);
  float* const X = malloc((size_t)(batch * d) * sizeof(float));
  float* const out = malloc((size_t)(batch * p) * sizeof(float));
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < batch * d; ++i) X[i] = (float)rand() / (float)RAND_MAX;
    const double start = now();
    if (carmina_predict_float(model, X, batch, out) != 0) return 1;
    printf("%.3f\n", now() - start);
  }
  free(X);
  free(out);
  carmina_free(model);
  return 0;
}
