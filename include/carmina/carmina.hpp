// carmina.hpp -- everything, in reading order.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/data/generators.hpp>
#include <carmina/data/rows.hpp>
#include <carmina/data/splits.hpp>
#include <carmina/data/table.hpp>
#include <carmina/features/fourier_map.hpp>
#include <carmina/features/kernel_map.hpp>
#include <carmina/features/map_operations.hpp>
#include <carmina/kernels/kernel.hpp>
#include <carmina/kernels/outputs.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/median_heuristic.hpp>
#include <carmina/random/philox.hpp>
