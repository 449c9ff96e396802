// fuzz/make_seeds.cpp -- make_seeds FOLDER: small good inputs, in a folder for each target, for the engines to start
// from.
#include "fuzz/small_models.hpp"
#include "fuzz/targets.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace carmina;

class Seeds {
 public:
  Seeds(const std::filesystem::path& root, std::string_view target) : folder_(root / target) {
    std::filesystem::create_directories(folder_);
  }
  void add(const std::string& content) {
    std::ofstream(folder_ / ("seed-" + std::to_string(count_++)), std::ios::binary) << content;
  }
  template <class... More>
  void add(const std::string& content, const More&... more) {
    add(content);
    add(more...);
  }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
};

std::string npy(const std::string& type, bool fortran, const std::string& shape, const std::string& body) {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  return "\x93NUMPY" + std::string{'\1', '\0', static_cast<char>(header.size()), '\0'} + header + body;
}

std::string idx(char type, const std::string& sizes, const std::string& body) {
  std::string all{'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const char size : sizes) all += std::string{'\0', '\0', '\0', size};
  return all + body;
}

std::string packed_model(const ModelFile& file) {
  const auto bytes = encode_model(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void tables(const std::filesystem::path& root) {
  const std::string csv = "x,y,z\n1,2,3\n-4.5,+5e-3, 6 \n", quoted = "\"a \"\"b\"\"\",\"two\nlines\"\n\"1.5\",NA\n";
  const std::string arff =
      "@relation r\n@attribute x numeric\n@attribute 'a b' {u, 'v w'}\n@data\n1,u\n?,'v w'\n{1 'v w'}\n{}\n";
  const std::string svm = "1 1:0.5 3:-2\n-1 2:1e3 # note\nNaN 3:1\n";
  const std::string eight("\0\1\2\3\4\5\6\7", 8);
  const std::string array = npy("<f4", false, "(2, 1)", eight), images = idx(8, {2, 2, 2}, eight);
  Seeds(root, "csv").add(csv, quoted, "1;2\n;\n3;4", "\xEF\xBB\xBFx\ty\r\n1\t2\r\n\r\n", "1e-400,inf\n", "7");
  Seeds(root, "arff").add(arff, "% c\n@RELATION r\n@ATTRIBUTE y real\n@DATA\n1e5\n");
  Seeds(root, "npy").add(array, npy(">i2", true, "(2, 2)", eight), npy("|u1", false, "(8,)", eight));
  Seeds(root, "libsvm").add(svm, "0 1:1\n");
  Seeds(root, "idx").add(images, idx(0x0D, {2, 1}, eight));
  Seeds gzip(root, "gzip");
  gzip.add('\0' + csv, '\1' + arff, '\2' + array, '\3' + svm, '\4' + images);
  gzip.add("\x80\x1f\x8b\x08");
}

void models(const std::filesystem::path& root) {
  Seeds files(root, "model"), descriptions(root, "description");
  const auto& all = fuzz::small_models();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const ModelFile& file = all[k].second;
    files.add(packed_model(file));
    const bool mixture = file.texts.contains("mixture");
    const auto json = nlohmann::json::parse(file.text(mixture ? "mixture" : "description"));
    const char number = static_cast<char>(k);
    descriptions.add(std::string{number, '\2'} + json.dump());
    if (json.contains("kernel")) descriptions.add(std::string{number, '\0'} + json["kernel"].dump());
    if (k < 3) descriptions.add(std::string{number, '\1'} + json["fit"].dump());
  }
  ModelFile small;
  small.texts["note"] = "text";
  small.put<double>("x", Matrix<double>::Ones(2, 2));
  small.tensors["empty"] = {"I64", {0, 5}, {}};
  Seeds(root, "header").add(packed_model(small), packed_model(all[0].second));
}

void rest(const std::filesystem::path& root) {
  Seeds(root, "command_line")
      .add("fit\nabsent.csv\n--targets\ny\n--model\nm\n--kernel\nmatern\n--nu\n1.5\n--alpha\n0.1\n--memory\n1G",
           "fit\nabsent.csv\n--targets\n1\n--model\nm\n--loss\npinball\n--levels\n0.1,0.9\n--components\n40",
           "fit\nabsent.csv\n--targets\n1\n--model\nm\n--kernel\nspectral_mixture\n--mixtures\n3\n--inference\nexact",
           "fit\nabsent.csv\n--targets\n2\n--model\nm\n--operator\ncurl-free\n--approximation\nsparse_rademacher",
           "tune\nabsent.csv\n--targets\ny\n--model\nm\n--alphas\n0.1,1\n--folds\n3\n--by\ncv",
           "predict\nvariances\nrows.csv\n--out\np.csv\n--std\n--interval\n0.9",
           "predict\nlogistic\nrows.csv\n--out\np.npy\n--probabilities", "evaluate\nvariances\nrows.csv\n--json",
           "info\nspectral_mixture_fourier\n--json", "info\nvariances", "fit\n--help");
  Seeds sets(root, "instruction_sets");
  for (char what = 0; what < 8; ++what) {
    std::string bytes(1, what);
    for (int k = 0; k < 300; ++k) bytes += static_cast<char>(k * k * 31 + 7 * what);
    sets.add(bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "make_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path root = argv[1];
  tables(root);
  models(root);
  rest(root);
  return 0;
}
