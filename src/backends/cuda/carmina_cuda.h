/* backends/cuda/carmina_cuda.h -- what the library asks of libcarmina_cuda.so: one symbol, a table of C functions.
 *
 * Rows are given once, in blocks, in any number of them; what is asked of them are sums over rows and products row by
 * row of the Fourier features cos(2 pi t), sin(2 pi t), t = <x, w> in turns, without the map's scale D^(-1/2). A sum
 * goes by slices of `carmina_cuda_slice` rows: in the data's precision in a slice, then slices in their order in
 * double. It depends on nothing else: not on blocks, nor on whether rows stay on the device.
 *
 * Functions that give int give 0 when all went well; else error() is a sentence, of the thread that asked.
 */
#ifndef CARMINA_CUDA_H
#define CARMINA_CUDA_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { carmina_cuda_version = 2, carmina_cuda_slice = 1024 };

/* How phases are made: of float data as products of halves on tensor cores, or in double; features of float data are
 * in float. */
enum carmina_cuda_precision { carmina_cuda_split = 0, carmina_cuda_wide = 1, carmina_cuda_double = 2 };

struct carmina_cuda_device {
  char name[256];
  int major, minor, multiprocessors;
  size_t total_bytes, free_bytes;
};

struct carmina_cuda_rows; /* rows, a map, and what is held for them on one device */

/* What features are of the frequencies w: a cosine and a sine of <x, w>; or, of anchors w in their place, a kernel's
 * value k(x, w), a function of the sum r of squares of x_k - w_k, or of their absolute values: exp(-r / 2), exp(-r),
 * Matern's with sqrt(2 nu r) for nu of 1/2, 3/2, 5/2, (1 + r / (2 a))^-a. Sums have 2 units all the same: the second
 * half is zero. Kernels are not for carmina_cuda_split. */
enum carmina_cuda_profile {
  carmina_cuda_fourier = 0,
  carmina_cuda_gaussian = 1,
  carmina_cuda_laplacian = 2, /* of absolute values */
  carmina_cuda_matern = 3,
  carmina_cuda_rational = 4
};

struct carmina_cuda_task {
  int device;
  enum carmina_cuda_precision precision;
  int64_t rows, inputs, outputs, units;
  const double* frequencies; /* (units, inputs), in turns */
  int64_t rows_at_once;      /* of a block that is staged */
  int resident;              /* rows stay on the device; else they are given anew for each pass */
  int missing_targets;       /* a target that is not a number has no part in the sums of its output */
  enum carmina_cuda_profile profile;
  double shape; /* nu, or a */
};

/* What is done to inputs that are on the device before they are features: u_k = (x_k - shift_k) factor_k, at most
 * `limit` away from 0, a missing x_k taken as fill_k first; then metric u. Null: nothing of that. */
struct carmina_cuda_transform {
  const double *fill, *shift, *factor, *metric; /* of so many inputs; metric (inputs, inputs) */
  double limit;
};

/* What takes the place of R in a sum over rows of phiᵀ R. */
enum carmina_cuda_sum {
  carmina_cuda_given = 0,  /* (rows, q) given with each block */
  carmina_cuda_normal = 1, /* w phi P */
  carmina_cuda_targets = 2 /* [w (y - origin), w], and where targets are missing w for each output that is there */
};

struct carmina_cuda_seconds {
  double copying, computing; /* of the device, since rows were opened; copies may run beside computations */
  size_t bytes;              /* from the host */
};

struct carmina_cuda_api {
  int version;
  const char* (*error)(void);
  int (*devices)(int* count);
  int (*describe)(int device, struct carmina_cuda_device* into);

  struct carmina_cuda_rows* (*open)(const struct carmina_cuda_task* task); /* null: an error */
  void (*close)(struct carmina_cuda_rows*);
  /* Bytes on the device that a task takes with sums of q columns. */
  size_t (*bytes)(const struct carmina_cuda_task* task, int64_t q);

  /* Where the next block is to be written: inputs (rows_at_once, inputs), targets (.., outputs) and weights, in the
   * data's precision; then what was written. `first` is a multiple of the slice. Writing may go on while the block
   * before is worked on. */
  int (*stage)(struct carmina_cuda_rows*, void** inputs, void** targets, void** weights);
  int (*submit)(struct carmina_cuda_rows*, int64_t first, int64_t count);
  /* In the place of stage and submit where inputs X (count, inputs) are in the device's memory already, row stride in
   * numbers: they are copied there. Y (count, outputs) and weights (count; null: one) are the host's. */
  int (*set_transform)(struct carmina_cuda_rows*, const struct carmina_cuda_transform* transform);
  int (*submit_held)(struct carmina_cuda_rows*, int64_t first, int64_t count, const void* X, int64_t stride,
                     const void* Y, int64_t y_stride, const void* weights);
  /* Once after the first submission of all rows: 1 if an input is too large for the products of halves. */
  int (*too_large)(struct carmina_cuda_rows*, int* answer);

  /* A sum over all rows: begin, a call for each block (of resident rows: for each range of them, which begin at
   * slices), end. `matrix`: P (2 units, q) of a normal sum; origin (outputs) of targets. `values` of a block: R (count,
   * q). out: (2 units, q), cosines first; target_sums (q): of the R themselves, or null. */
  int (*begin_sum)(struct carmina_cuda_rows*, enum carmina_cuda_sum what, int64_t q, const double* matrix);
  int (*add_block)(struct carmina_cuda_rows*, int64_t first, int64_t count, const double* values);
  int (*end_sum)(struct carmina_cuda_rows*, double* out, double* target_sums);

  /* F (count, q) = phi C of a block, C (2 units, q) set before. */
  int (*set_coefficients)(struct carmina_cuda_rows*, int64_t q, const double* C);
  int (*forward_block)(struct carmina_cuda_rows*, int64_t first, int64_t count, double* F);

  /* H = sum u phi phiᵀ of all rows, lower triangle, to 22 bits in `carmina_cuda_split`, else in double: begin, a call
   * for each block as in a sum, end. u (count) of a block, or null: the weights; `largest`: of all u. H (2 units, 2
   * units). */
  int (*begin_gram)(struct carmina_cuda_rows*, double largest);
  int (*add_gram)(struct carmina_cuda_rows*, int64_t first, int64_t count, const double* u);
  int (*end_gram)(struct carmina_cuda_rows*, double* H);

  /* A factor in float of M = (factor / w) (H - g gᵀ / w) + alpha I, H = sum w phi phiᵀ, g = sum w phi, w the sum of
   * weights of `count` rows: X (count, inputs) and weights (count) or null, in float; or, of resident rows in
   * `carmina_cuda_split`, those with these numbers. Without the second term unless centred. `positive`: whether M was
   * positive definite; then solve gives Z = M⁻¹ R, (2 units, q). */
  int (*precondition)(struct carmina_cuda_rows*, int64_t count, const float* X, const float* weights,
                      const int64_t* numbers, double factor, int centred, double alpha, int* positive);
  int (*solve)(struct carmina_cuda_rows*, int64_t q, const double* R, double* Z);

  int (*seconds)(struct carmina_cuda_rows*, struct carmina_cuda_seconds* into);

  /* Without rows. The device whose memory an address is in, or -1; memory there; a copy from or to it, after all that
   * was asked of the device; A = L Lᵀ in its place (lower triangle), A in the host's memory. */
  int (*holder)(const void* address, int* device);
  int (*allocate)(int device, size_t bytes, void** memory);
  int (*release)(int device, void* memory);
  int (*copy)(int device, void* to, size_t to_stride, const void* from, size_t from_stride, size_t width, size_t rows);
  int (*factor)(int device, int64_t order, double* A, int64_t lda, int* positive);
};

/* The only symbol: null unless the library is of this version. */
const struct carmina_cuda_api* carmina_cuda(int version);

#ifdef __cplusplus
}
#endif
#endif
