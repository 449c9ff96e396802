// models/mixture/series_period.hpp -- after how long a series comes back, and the step of its times.
#pragma once
#include <carmina/core/matrix.hpp>

#include <vector>

namespace carmina {

// The mean of the steps that are no gaps (below 1.5 of the shortest), of ascending x.
double usual_step(const Vector<double>& x);

// The shortest number of steps l after which y, less a line, comes back: D(l) = mean (y_t - y_(t-l))^2 is a minimum
// below 0.6 of the largest D between l / 2 and l, and within 1.25 of the smallest such minimum. In the unit of x; 0:
// none of at most 0.4 of the range, or times that are on no grid to 0.3 of a step. A week of hours is found beside its
// days.
double recurring_period(const Vector<double>& x, const Vector<double>& y);

// Of the periods that are given and fit into x twice, that of the smallest D; 0: none.
double recurring_period(const Vector<double>& x, const Vector<double>& y, const std::vector<double>& given);

}  // namespace carmina
