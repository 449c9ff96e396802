// tests/cli/bad_input_test.cpp -- what is wrong makes one line, the right exit status, and no file.
#include <carmina/models/kernel_machine.hpp>

#include <set>

#include <support/given_numbers.hpp>
#include "program.hpp"

namespace carmina::testing {

using ::testing::HasSubstr;

namespace {

using Words = std::vector<std::string>;

// A folder with good files, to which each case adds its bad one.
class BadInput : public ::testing::Test {
 protected:
  BadInput() {
    write_table(at("good.csv"), friedman_names, friedman_table(40, 1));
    auto options = given_numbers();
    options.n_components = 8;
    const Matrix<double> table = read_table(at("good.csv")).values;
    const auto machine = KernelMachine<double>::fit(table.leftCols(5), table.rightCols(2), options);
    machine.save(at("model"));
  }
  std::string at(const std::string& name) const { return folder_.path(name); }

  std::set<std::string> listing() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(at(""))) names.insert(entry.path().filename());
    return names;
  }
  // Runs, and expects the folder to hold afterwards what it held before.
  void expect(const Words& words, const std::string& message, int status = 1) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const auto before = listing();
    EXPECT_THAT(run_badly(words, status), HasSubstr(message));
    EXPECT_EQ(listing(), before);
  }
  void expect_fit(const Words& more, const std::string& message, int status = 1) {
    Words words = {"fit", at("good.csv"), "--targets", "2", "--model", at("new")};
    words.insert(words.end(), more.begin(), more.end());
    expect(words, message, status);
  }
  // The same file refused by fit, evaluate and predict.
  void expect_data(const std::string& name, const std::string& content, const std::string& message) {
    const auto data = folder_.file(name, content);
    expect({"fit", data, "--targets", "1", "--model", at("new"), "--components", "8"}, message);
    run({"fit", at("three.csv"), "--targets", "1", "--model", at("three"), "--components", "8"});
    expect({"predict", at("three"), data, "--out", at("p.csv")}, message);
    expect({"evaluate", at("three"), data}, message);
  }

  TempDir folder_;
};

}  // namespace

TEST_F(BadInput, TablesAreRefusedWithFileLineAndColumn) {
  folder_.file("three.csv", "a,b,y\n1,2,3\n2,1,4\n3,3,5\n");
  expect_data("ragged.csv", "a,b,y\n1,2,3\n4,5\n", "ragged.csv:3: expected 3 cells, found 2");
  expect_data("long.csv", "a,b,y\n1,2,3\n4,5,6,7\n", "long.csv:3: expected 3 cells, found 4");
  expect_data("text.csv", "a,b,y\n1,2,3\n1,oops,3\n", "text.csv:3: column 'b': expected a number, found 'oops'");
  expect_data("empty.csv", "", "empty.csv: the file is empty");
  expect_data("header.csv", "a,b,y\n", "header.csv: the file has a header but no rows");
  expect_data("inf.csv", "a,b,y\n1,2,3\ninf,2,3\n", "inf.csv:3: column 'a'");
  expect_data("nul.csv", std::string("a,b,y\n1,2,3\n1,\0,3\n", 18), "nul.csv:3");
  expect_data("missing.csv", "a,b,y\n1,2,3\n1,,3\n", "missing.csv:3: column 'b': the value is missing");
  expect_data("wrong.arff",
              "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute y "
              "numeric\n@data\n1,2,3\n1,two,3\n",
              "wrong.arff:7: column 'b'");
  expect_data("kind.arff", "@relation r\n@attribute a sound\n@data\n1\n", "kind.arff:2");
  expect_data("unquoted.csv", "a,b,y\n1,\"2,3\n", "unquoted.csv:2");
  expect_data("noise.csv.gz", "this is not gzip", "noise.csv.gz");
  expect_data("table.xls", "a,b\n1,2\n", "table.xls");
  write_table(at("whole.npy"), {}, friedman_table(20, 1).leftCols(3));
  expect_data("cut.npy", folder_.content("whole.npy").substr(0, 300), "cut.npy");
  expect_data("cut-header.npy", folder_.content("whole.npy").substr(0, 40), "cut-header.npy");
  expect_data("bad.libsvm", "1 1:2\n1 2:3 2:4\n", "bad.libsvm:2");
  expect({"fit", at("absent.csv"), "--targets", "1", "--model", at("new")}, "absent.csv");
  expect({"fit", at(""), "--targets", "1", "--model", at("new")}, "cannot read");
  const auto target = folder_.file("gap.csv", "a,b,y\n1,3,\n2,4,\n");
  expect({"fit", target, "--targets", "y", "--model", at("new")}, "no row has a target: all 2 rows");
  expect({"fit", target, "--targets", "b,y", "--model", at("new")}, "target column 2 ('y') has no values");
  const auto column = folder_.file("column.csv", "a,b,y\n1,,2\n2,NA,3\n3,,5\n");
  expect({"fit", column, "--targets", "y", "--model", at("new"), "--fill-missing"},
         "input column 2 ('b') has no values: every row has NaN there; leave the column out");
  const auto latin = folder_.file("latin.csv",
                                  "gr\xf6\xdf"
                                  "e,y\n1,2\n2,3\n");
  expect({"fit", latin, "--targets", "y", "--model", at("new")}, "latin.csv:1: the name of column 1");
}

TEST_F(BadInput, TargetsMustExistAndMatch) {
  const Words fit = {"fit", at("good.csv"), "--model", at("new")};
  const auto with = [&](const Words& more) {
    Words words = fit;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect(with({"--targets", "y1,speed"}), "good.csv: no column is named 'speed'");
  expect(with({"--targets", "7"}), "good.csv: the number of targets must be from 1 to 6");
  expect(with({"--targets", "0"}), "found 0");
  const auto few = folder_.file("few.csv", "y\n1\n2\n");
  expect(with({"--target-file", few}), "few.csv has fewer rows than");
  write_table(at("few.npy"), {}, Matrix<double>::Ones(3, 1));
  write_table(at("four.npy"), {}, Matrix<double>::Ones(4, 2));
  expect({"fit", at("four.npy"), "--target-file", at("few.npy"), "--model", at("new")}, "few.npy has 3 rows");
}

TEST_F(BadInput, ValuesOutOfRangeExitWithOne) {
  expect_fit({"--components", "0"}, "found 0");
  expect_fit({"--components", "7"}, "even");
  expect_fit({"--components", "-2"}, "found -2");
  expect_fit({"--components", "99999999999999999999"}, "--components: 99999999999999999999 is out of range");
  expect_fit({"--alpha", "1e999"}, "--alpha: 1e999 is out of range");
  expect_fit({"--length-scale", "1e-999"}, "--length-scale: 1e-999 is out of range");
  expect_fit({"--alpha", "1e400"}, "--alpha: 1e400 is out of range");
  expect_fit({"--alpha", "1e-400"}, "--alpha: 1e-400 is out of range");
  expect_fit({"--tol", "1e-400"}, "--tol: 1e-400 is out of range");
  expect_fit({"--loss", "huber", "--kappa", "1e400"}, "--kappa: 1e400 is out of range");
  expect_fit({"--loss", "pinball", "--levels", "0.1,1e-400"}, "--levels: 1e-400 is out of range");
  expect_fit({"--kernel", "matern", "--nu", "1e400"}, "--nu: 1e400 is out of range");
  expect_fit({"--max-iter", "99999999999999999999"}, "--max-iter: 99999999999999999999 is out of range");
  expect_fit({"--threads", "-99999999999999999999"}, "is out of range");
  expect_fit({"--memory", "1e400G"}, "--memory");
  expect_fit({"--alpha", "-1"}, "alpha must be finite and not negative, found -1");
  expect_fit({"--alpha", "nan"}, "alpha");
  expect_fit({"--threads", "0"}, "--threads must be from 1");
  expect_fit({"--threads", "-3"}, "found -3");
  expect_fit({"--memory", "-1G"}, "--memory");
  expect_fit({"--memory", "0"}, "--memory");
  expect_fit({"--seed", "-1"}, "--seed");
  expect_fit({"--device", "gpu"}, "device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found 'gpu'");
  expect_fit({"--device", "cuda", "--device-library", "/nowhere"}, "libcarmina_cuda.so is not in '/nowhere'");
  expect_fit({"--length-scale", "0"}, "length_scale must be positive");
  expect_fit({"--max-iter", "0"}, "max_iter");
  expect_fit({"--tol", "0"}, "tol");
  expect_fit({"--kernel", "triangle"}, "triangle");
  expect_fit({"--loss", "cubic"}, "'cubic'");
  expect_fit({"--loss", "huber", "--epsilon", "1"}, "epsilon");
  expect_fit({"--loss", "pinball", "--levels", "0.1,2"}, "levels must be between 0 and 1");
  expect_fit({"--approximation", "nystrom"}, "'sub_sample'");
  expect_fit({"--density", "0.1"}, "--density is for sketches");
  expect_fit({"--approximation", "guess"}, "found 'guess'");
  expect_fit({"--solver", "magic"}, "--solver: 'magic'");
  expect_fit({"--solver", "adam", "--approximation", "exact"}, "solver 'adam' is for approximation 'fourier'");
  expect_fit({"--sampling", "halton"}, "--sampling: 'halton'");
  expect_fit({"--sampling", "orthogonal", "--kernel", "laplacian"}, "sampling 'orthogonal' needs a kernel of |x - z|");
  expect_fit({"--sampling", "hadamard", "--kernel", "laplacian"}, "sampling 'hadamard' needs a kernel of |x - z|");
  expect_fit({"--operator", "curled"}, "--operator: 'curled'");
  expect_fit({"--operator", "curl-free"}, "a curl-free kernel needs as many targets as inputs");
  expect_fit({"--operator", "curl-free", "--output-matrix", "identity"}, "found curl-free");
  expect_fit({"--operator", "divergence-free", "--kernel", "laplacian"}, "no second derivative");
  expect_fit({"--operator", "curl-free", "--kernel", "matern", "--nu", "1"}, "nu <= 1");
  expect_fit({"--operator", "curl-free", "--kernel", "matern", "--nu", "2.5", "--bounded"}, "'gaussian' only");
  expect_fit({"--bounded"}, "--bounded needs --operator");
  expect_fit({"--nu", "2"}, "the gaussian kernel has no parameter 'nu'");
  expect_fit({"--kernel", "matern", "--nu", "-1"}, "nu must be positive");
  expect_fit({"--kernel", "rational_quadratic", "--shape", "0"}, "shape must be positive");
  expect_fit({"--operator", "none", "--output-matrix", "identity"}, "--output-matrix needs");
  expect_fit({"--solver", "direct", "--components", "4000", "--memory", "1k"}, "memory budget");
}

// Each of these was a model whose predictions were NaN.
TEST_F(BadInput, FitsThatEndInNumbersThatAreNotFiniteWriteNothing) {
  const Words polynomial = {"--kernel", "polynomial", "--degree", "100", "--coef0", "1e4", "--approximation", "exact"};
  expect_fit(polynomial, "the kernel's values are not finite numbers");
  expect_fit({"--length-scale", "1e-320", "--alpha", "1", "--approximation", "exact"}, "length_scale is too small");
  const auto large = folder_.file("large.csv", "a,y\n1,1e308\n2,-1e308\n3,1e308\n4,1e308\n");
  expect({"fit", large, "--targets", "y", "--model", at("new"), "--alpha", "1", "--length-scale", "1"}, "divide");
  expect({"fit", large, "--targets", "y", "--model", at("new"), "--kernel", "spectral_mixture", "--mixtures", "1"},
         "the targets are too large");
}

TEST_F(BadInput, OutputMatricesMustBePositiveSemiDefinite) {
  const auto matrix = [&](const char* name, const char* text, const char* message) {
    expect_fit({"--output-matrix", folder_.file(name, text)}, message);
  };
  matrix("indefinite.csv", "1,2\n2,1\n", "indefinite.csv: ");
  matrix("skew.csv", "1,0.5\n0.2,1\n", "skew.csv: ");
  matrix("hole.csv", "1,\n0,1\n", "hole.csv: ");
  matrix("large.csv", "1,0,0\n0,1,0\n0,0,1\n", "large.csv: expected a 2 x 2 matrix for 2 targets, found 3 x 3");
  expect_fit({"--output-matrix", at("absent.csv")}, "absent.csv");
}

TEST_F(BadInput, ARowThatHasNoFinitePredictionIsNamed) {
  const auto data = folder_.file("huge.csv", "1,2,3,4,5\n1e308,1e308,1e308,1e308,1e308\n");
  expect({"predict", at("model"), data, "--out", at("p.csv")}, "huge.csv:2: the inputs are too large");
}

TEST_F(BadInput, OutputsMustBeWritableAndNotInputs) {
  expect({"fit", at("good.csv"), "--targets", "1", "--model", at("no/such/folder")}, "no/such/folder");
  expect({"fit", at("good.csv"), "--targets", "1", "--model", at("")}, "cannot write");
  expect({"fit", at("good.csv"), "--targets", "1", "--model", at("good.csv")}, "it is also an input");
  expect({"fit", at("good.csv"), "--targets", "1", "--model", "/dev/null"}, "not a regular file");
  expect({"predict", at("model"), at("good.csv"), "--out", at("none/p.csv")}, "none/p.csv");
  expect({"predict", at("model"), at("good.csv"), "--out", at("good.csv")}, "it is also an input");
  expect({"predict", at("model"), at("good.csv"), "--out", at("model")}, "it is also an input");
  expect({"predict", at("model"), at("good.csv"), "--out", at("p.txt")}, "p.txt");
  // What stood there before stays, whatever goes wrong.
  const auto old = folder_.file("old", "kept");
  const auto bad = folder_.file("bad.csv", "a,y\n1,2\n1,x\n");
  expect({"fit", bad, "--targets", "1", "--model", old}, "bad.csv:3");
  EXPECT_EQ(folder_.content("old"), "kept");
}

TEST_F(BadInput, ModelsMustBeWholeAndUnaltered) {
  const std::string whole = folder_.content("model");
  std::string altered = whole;
  altered[altered.size() - 3] ^= 1;
  folder_.file("altered", altered);
  folder_.file("truncated", whole.substr(0, whole.size() - 5));
  folder_.file("stub", whole.substr(0, 5));
  folder_.file("empty", "");
  folder_.file("two\nlines", whole.substr(0, 5));
  for (const std::string name : {"altered", "truncated", "stub", "empty", "absent", "good.csv", ""}) {
    expect({"info", at(name)}, at(name));
    expect({"evaluate", at(name), at("good.csv")}, at(name));
    expect({"predict", at(name), at("good.csv"), "--out", at("p.csv")}, at(name));
  }
  expect({"info", at("two\nlines")}, "two lines");
}

TEST_F(BadInput, WhatCannotBeParsedExitsWithTwo) {
  expect({}, "carmina --help", 2);
  expect({"sing"}, "there is no command 'sing'", 2);
  expect({"fit"}, "DATA is required; see 'carmina fit --help'", 2);
  expect({"fit", at("good.csv"), "--model", at("new")}, "--targets or --target-file is required", 2);
  expect({"fit", at("good.csv"), "--targets", "1"}, "--model is required", 2);
  expect({"predict", at("model"), at("good.csv")}, "--out is required", 2);
  expect({"info"}, "MODEL is required", 2);
  expect({"evaluate", at("model"), at("good.csv"), "more"}, "more", 2);
  expect_fit({"--target-file", at("good.csv")}, "--targets excludes --target-file", 2);
  expect_fit({"--bogus"}, "--bogus", 2);
  expect_fit({"--alpha", "x"}, "--alpha", 2);
  expect_fit({"--alpha"}, "--alpha", 2);
  expect_fit({"--components", "12.5"}, "--components", 2);
  expect_fit({"--threads", "many"}, "--threads", 2);
  expect_fit({"--memory", "4X"}, "--memory", 2);
  expect_fit({"--memory", "big"}, "--memory", 2);
  expect_fit({"--length-scale", "wide"}, "--length-scale", 2);
  expect_fit({"--seed", "1.5"}, "--seed", 2);
  for (const char* name : {"--components", "--max-iter", "--seed", "--threads", "--alpha", "--draws"}) {
    expect_fit({name, "010"}, format_text("{}: a number has no leading zero, found '010'", name), 2);
  }
}

TEST(Help, IsThereForEveryCommand) {
  EXPECT_THAT(run_well({"--version"}), HasSubstr("carmina "));
  EXPECT_THAT(run_well({"--help"}), HasSubstr("evaluate"));
  for (const std::string command : {"fit", "predict", "evaluate", "info"}) {
    EXPECT_THAT(run_well({command, "--help"}), HasSubstr("Example: carmina " + command + " "));
  }
}

}  // namespace carmina::testing
