// tests/models/fit_record_json_test.cpp -- the record of a fit comes back from JSON with every field.
#include "models/file/fit_record_json.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace carmina {
namespace {

TEST(FitRecordJson, HoldsEveryField) {
  FitRecord record;
  record.approximation = "sub_sample";
  record.n_components = 12;
  record.loss = Huber(0.3);
  record.calibration = Calibration{2, 0.5, 0.1};
  record.joint_quantiles = record.non_crossing = true;
  record.sampling = Sampling::orthogonal;
  record.alpha = 0.25;
  record.evidence = -3.5;
  record.fit_intercept = false;
  record.scale_inputs = record.fill_missing = true;
  record.seed = std::numeric_limits<std::uint64_t>::max();
  record.rows = 77;
  record.input_names = {"a", "b"};
  record.target_names = {"y"};
  record.report.solver = "direct";
  record.report.reason = "why";
  record.report.text = "words";
  record.report.seconds = {{"solve", 0.5}};
  record.report.choices = {{"matern", 0.7, "learnt", 0.1, "exact", 20.5, 0.9, true},
                           {"gaussian", std::numeric_limits<double>::quiet_NaN(), "identity", 1, "fourier", 3,
                            std::numeric_limits<double>::infinity(), false}};
  const FitRecord again = record_from_json(nlohmann::json::parse(record_to_json(record).dump()));
  EXPECT_EQ(again.approximation, record.approximation);
  EXPECT_EQ(again.n_components, record.n_components);
  EXPECT_EQ(loss_name(again.loss), loss_name(record.loss));
  EXPECT_EQ(loss_parameters(again.loss), loss_parameters(record.loss));
  EXPECT_EQ(again.calibration, record.calibration);
  EXPECT_TRUE(again.joint_quantiles && again.non_crossing);
  EXPECT_EQ(again.sampling, record.sampling);
  EXPECT_EQ(again.alpha, record.alpha);
  EXPECT_EQ(again.evidence, record.evidence);
  EXPECT_FALSE(again.fit_intercept);
  EXPECT_TRUE(again.scale_inputs);
  EXPECT_TRUE(again.fill_missing);
  EXPECT_EQ(again.seed, record.seed);
  EXPECT_EQ(again.rows, record.rows);
  EXPECT_EQ(again.input_names, record.input_names);
  EXPECT_EQ(again.target_names, record.target_names);
  EXPECT_EQ(again.report.solver, "direct");
  EXPECT_EQ(again.report.reason, "why");
  EXPECT_EQ(again.report.text, "words");
  EXPECT_EQ(again.report.seconds, record.report.seconds);
  ASSERT_EQ(again.report.choices.size(), 2U);
  const Choice &first = again.report.choices[0], &second = again.report.choices[1];
  EXPECT_EQ(first.kernel, "matern");
  EXPECT_EQ(first.length_scale, 0.7);
  EXPECT_EQ(first.metric, "learnt");
  EXPECT_EQ(first.alpha, 0.1);
  EXPECT_EQ(first.approximation, "exact");
  EXPECT_EQ(first.rows, 20.5);
  EXPECT_EQ(first.error, 0.9);
  EXPECT_TRUE(first.chosen);
  // Numbers that are not finite are not in JSON.
  EXPECT_EQ(second.length_scale, 0);
  EXPECT_EQ(second.error, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(second.chosen);
}

}  // namespace
}  // namespace carmina
