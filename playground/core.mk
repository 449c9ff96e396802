# playground/core.mk -- the part of the library that the playground needs, compiled by emscripten into $(OUT)/carmina.js
SOURCES = $(wildcard playground/*.cpp) \
  $(addprefix src/kernels/, coupling.cpp decomposable.cpp kernel.cpp matern.cpp mixture_kernel.cpp mixture_math.cpp \
    outputs.cpp pairwise.cpp periodic.cpp product.cpp scalar_kernel.cpp spectrum.cpp stationary.cpp) \
  $(addprefix src/features/, expansion.cpp feature_rows.cpp fourier_map.cpp frequencies.cpp hadamard_frequencies.cpp \
    kernel_map.cpp map_operations.cpp moments.cpp output_factors.cpp structured_tile.cpp) \
  $(addprefix src/solvers/, linear/shifted_direct.cpp squared/coefficient_space.cpp squared/left_out.cpp \
    squared/squared_dual.cpp squared/squared_primal.cpp) \
  $(addprefix src/solvers/losses/, balance.cpp convex_loss.cpp loss_model.cpp loss_rows.cpp newton_direction.cpp \
    row_sweeps.cpp) \
  $(addprefix src/solvers/evidence/, ascent.cpp mixture_exact.cpp mixture_prediction.cpp series_evidence.cpp) \
  $(addprefix src/models/mixture/, periodogram.cpp rolling_origin.cpp series_climb.cpp series_learner.cpp \
    series_period.cpp series_start.cpp spectral_mixture.cpp structural_climb.cpp) \
  $(addprefix src/, backends/cpu/vector_math.cpp backends/cpu/vector_math_portable.cpp losses/logistic.cpp \
    losses/loss.cpp models/fit/leave_out.cpp models/machine/interval_levels.cpp random/philox.cpp theory/bounds.cpp \
    theory/terms.cpp theory/variance.cpp)
comma = ,
OBJECTS = $(SOURCES:%.cpp=$(OUT)/objects/%.o)
FUNCTIONS = fit_field fit_curve learn_series forecast_series approximate_kernel approximate_by_rows error_bound \
  has_uniform_bound malloc free
EXPORTED = $(subst $() ,$(comma),$(addprefix _,$(FUNCTIONS)))
export NODE_PATH = /usr/share/nodejs

# R123 asks for a processor that it knows; those macros change no number.
FLAGS = -std=c++20 -Os -msimd128 -DNDEBUG -fno-rtti -ffunction-sections -fdata-sections -D__s390x__ \
  -include playground/compiler/first.hpp -Iplayground/compiler -Isrc -Iinclude \
  -isystem $(OUT)/include -isystem /usr/include/eigen3

$(OUT)/carmina.js: $(OBJECTS)
	em++ -Os -fno-rtti -Wl,--gc-sections $^ -o $@ --no-entry -s MODULARIZE=1 -s EXPORT_NAME=makeCarmina \
	  -s ENVIRONMENT=web,node -s ALLOW_MEMORY_GROWTH=1 -s FILESYSTEM=0 \
	  -s EXPORTED_FUNCTIONS=$(EXPORTED) -s EXPORTED_RUNTIME_METHODS='["HEAPF64"]'

# Headers of Debian's without those of the machine's own libc, which stand in the same folder.
$(OUT)/include:
	mkdir -p $@
	ln -s /usr/include/Random123 $@

# Products and factorisations are where the time goes; of equal instances of a template the first one is linked.
$(OUT)/objects/playground/%.o $(OUT)/objects/src/backends/%.o $(OUT)/objects/src/solvers/%.o: OPTIMISE = -O3

$(OUT)/objects/%.o: %.cpp | $(OUT)/include
	@mkdir -p $(@D)
	em++ $(FLAGS) $(OPTIMISE) -MMD -c $< -o $@

-include $(OBJECTS:.o=.d)
