/* carmina.h -- predictions of a model file, for C and whatever calls C.
 *
 * Every function may be called from many threads at once, with one model too. A model is the same from carmina_load to
 * carmina_free. Rows are row-major and dense. Functions that give an int give 0, or -1 after an error whose text
 * carmina_last_error() has. */
#ifndef CARMINA_H
#define CARMINA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CARMINA_API __attribute__((visibility("default")))

typedef struct carmina_model carmina_model;

/* NULL after an error. */
CARMINA_API carmina_model* carmina_load(const char* path);
CARMINA_API void carmina_free(carmina_model* model); /* NULL is no error */

CARMINA_API int64_t carmina_inputs(const carmina_model* model);  /* numbers of a row of X */
CARMINA_API int64_t carmina_outputs(const carmina_model* model); /* numbers of a row of predictions */

/* X (rows, inputs), out (rows, outputs); computed by the calling thread, in the model's precision. */
CARMINA_API int carmina_predict(const carmina_model* model, const double* X, int64_t rows, double* out);
CARMINA_API int carmina_predict_float(const carmina_model* model, const float* X, int64_t rows, float* out);
/* Standard deviations of new observations, where the model knows them. */
CARMINA_API int carmina_predict_std(const carmina_model* model, const double* X, int64_t rows, double* out);

/* Of the last call that failed in this thread, one line of UTF-8; empty before there was one. Valid until the next
 * call. */
CARMINA_API const char* carmina_last_error(void);
CARMINA_API const char* carmina_version(void);

#ifdef __cplusplus
}
#endif

#endif
