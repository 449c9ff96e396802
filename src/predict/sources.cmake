# predict/sources.cmake -- what loads a model of any kind and predicts: no solver, no reader of tables. That
# nothing else is needed is what linking carmina::predict shows.
set(CARMINA_PREDICT_SOURCES
  core/atomic_file.cpp core/crc32.cpp core/eigen_instances.cpp core/execution.cpp core/format.cpp core/paths.cpp
  core/processors.cpp
  random/philox.cpp random/quantiles.cpp backends/cpu/hadamard.cpp backends/cpu/hadamard_avx2.cpp
  backends/cpu/hadamard_avx512.cpp backends/cpu/hadamard_portable.cpp backends/cpu/products.cpp backends/cpu/tiled.cpp
  backends/cpu/triangular.cpp backends/cpu/vector_math.cpp backends/cpu/vector_math_avx2.cpp
  backends/cpu/vector_math_avx512.cpp backends/cpu/vector_math_portable.cpp data/cells.cpp data/input_encoder.cpp
  kernels/coupling.cpp kernels/decomposable.cpp kernels/kernel.cpp kernels/matern.cpp kernels/mixture_kernel.cpp
  kernels/mixture_math.cpp kernels/pairwise.cpp kernels/periodic.cpp kernels/product.cpp kernels/scalar_kernel.cpp
  kernels/spectrum.cpp kernels/stationary.cpp
  features/allocation.cpp features/expansion.cpp features/fourier_map.cpp
  features/frequencies.cpp features/hadamard_frequencies.cpp features/kernel_map.cpp
  features/map_operations.cpp features/moments.cpp features/operator_map.cpp
  features/output_factors.cpp features/sketched_map.cpp features/structured_tile.cpp
  losses/logistic.cpp losses/loss.cpp solvers/evidence/fourier_posterior.cpp
  solvers/evidence/mixture_exact.cpp solvers/evidence/mixture_prediction.cpp
  models/file/encoder_json.cpp models/file/fit_record_json.cpp models/file/kernel_json.cpp
  models/file/kernel_machine_file.cpp models/file/model_file.cpp models/file/model_layout.cpp
  models/file/moments_file.cpp models/file/spectral_mixture_file.cpp models/file/tensor_table.cpp
  models/machine/derived_names.cpp models/machine/feature_posterior.cpp models/machine/fit_record.cpp models/machine/interval_levels.cpp
  models/machine/kernel_machine.cpp models/machine/posterior.cpp models/machine/posterior_factors.cpp
  models/machine/predictor.cpp models/machine/probabilities.cpp models/machine/row_posterior.cpp
  models/mixture/spectral_mixture.cpp models/plan/memory_limit.cpp backends/cpu/tiled_cholesky.cpp)
