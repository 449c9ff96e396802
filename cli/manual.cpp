// cli/manual.cpp -- completions of bash, zsh and fish, a page for `man`, and the groups of options.
#include "manual.hpp"

#include <algorithm>
#include <carmina/core/error.hpp>
#include <map>
#include <memory>
#include <string_view>

#include "console.hpp"

namespace carmina::cli {

namespace {

struct Group {
  const char* name;
  std::vector<const char*> options;
};
const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"Files and columns",
       {"--targets", "--target-file", "--inputs", "--ignore", "--weights", "--categories", "--unseen", "--dates",
        "--model", "--out", "--onnx", "--config", "--json", "--checkpoint", "--checkpoint-seconds"}},
      {"Kernel",
       {"--kernel", "--nu", "--shape", "--degree", "--gamma", "--coef0", "--length-scale", "--metric", "--operator",
        "--output-matrix", "--bounded"}},
      {"Approximation", {"--approximation", "--components", "--density", "--draws", "--sampling", "--seed"}},
      {"Loss and penalty",
       {"--loss", "--kappa", "--epsilon", "--levels", "--non-crossing", "--alpha", "--no-intercept"}},
      {"Inputs", {"--scale", "--no-scale", "--fill-missing"}},
      {"Choice",
       {"--by", "--length-scales", "--alphas", "--kappas", "--epsilons", "--mixture-counts", "--folds", "--contiguous",
        "--groups"}},
      {"Solver", {"--solver", "--max-iter", "--tol", "--validation-fraction", "--patience", "--variances"}},
      {"Spectral mixtures",
       {"--mixtures", "--trend", "--periods", "--inference", "--starts", "--learning-rows", "--inducing",
        "--allocation", "--parameterization", "--kl-copies", "--family", "--learning-rate", "--step-draws", "--rank",
        "--phases"}},
      {"What is predicted", {"--std", "--interval", "--joint", "--probabilities", "--parts", "--samples"}},
      {"Machine", {"--threads", "--memory", "--float32", "--device"}},
  };
  return all;
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

// "--name", of options that have one.
std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool takes_file(const CLI::Option& option) { return option.get_type_name().find("FILE") != std::string::npos; }

// The words that an option takes: those in lower case of "auto|NUMBER|gcv".
std::vector<std::string> words_of(const CLI::Option& option) {
  std::vector<std::string> words;
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));
  if (type.find('|') == std::string::npos) return words;
  for (std::size_t begin = 0; begin <= type.size();) {
    const std::size_t end = std::min(type.find('|', begin), type.size());
    const std::string word = type.substr(begin, end - begin);
    if (!word.empty() && std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); })) {
      words.push_back(word);
    }
    begin = end + 1;
  }
  return words;
}

// Without what would end a quoted text of a shell.
std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == '\'' || c == '"' || c == '`' || c == '\\' || c == '[' || c == ']'; });
  std::replace_if(text.begin(), text.end(), [](char c) { return c == ':' || c == '\n' || c == '$'; }, ' ');
  return text;
}

std::string bash(const CLI::App& program) {
  std::string text =
      "# bash completion for carmina\n_carmina() {\n  local word=${COMP_WORDS[COMP_CWORD]} "
      "before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"";
  for (const CLI::App* command : commands_of(program)) text += command->get_name() + " ";
  text += "--help --version\" -- \"$word\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const CLI::App* command : commands_of(program)) {
    for (const CLI::Option* option : command->get_options()) {
      const auto words = words_of(*option);
      if (words.empty() || option->get_lnames().empty()) continue;
      text += format_text("    '{} --{}') COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                          command->get_name(), option->get_lnames().front(), join_text(words, " "));
    }
  }
  text += "  esac\n  case \"$word\" in\n    -*)\n      case \"${COMP_WORDS[1]}\" in\n";
  for (const CLI::App* command : commands_of(program)) {
    text += format_text("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")) ;;\n", command->get_name(),
                        join_text(long_names(*command), " "));
  }
  return text +
         "      esac ;;\n    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n  esac\n}\ncomplete -o filenames -F "
         "_carmina carmina\n";
}

std::string zsh(const CLI::App& program) {
  std::string text = "#compdef carmina\n_carmina() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(\n";
  for (const CLI::App* command : commands_of(program)) {
    text += format_text("      '{}:{}'\n", command->get_name(), plain(command->get_description()));
  }
  text += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n";
  for (const CLI::App* command : commands_of(program)) {
    text += format_text("    {}) _arguments '2:command:'", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const auto words = words_of(*option);
      const std::string value = option->get_expected_max() == 0 ? ""
                                : !words.empty()                ? format_text(":value:({})", join_text(words, " "))
                                : takes_file(*option)           ? ":file:_files"
                                                                : ":value:";
      text +=
          format_text(" \\\n      '--{}[{}]{}'", option->get_lnames().front(), plain(option->get_description()), value);
    }
    text += " \\\n      '*:file:_files' ;;\n";
  }
  return text + "  esac\n}\n_carmina \"$@\"\n";
}

std::string fish(const CLI::App& program) {
  std::string text = "# fish completion for carmina\n";
  for (const CLI::App* command : commands_of(program)) {
    text += format_text("complete -c carmina -n __fish_use_subcommand -f -a {} -d '{}'\n", command->get_name(),
                        plain(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const auto words = words_of(*option);
      const std::string value = option->get_expected_max() == 0 ? ""
                                : !words.empty()                ? format_text(" -x -a '{}'", join_text(words, " "))
                                                                : " -r";
      text += format_text("complete -c carmina -n '__fish_seen_subcommand_from {}' -l {} -d '{}'{}\n",
                          command->get_name(), option->get_lnames().front(), plain(option->get_description()), value);
    }
  }
  return text;
}

// For roff: a backslash and a leading dot or quote mean something to it.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += out.empty() && (c == '.' || c == '\'') ? format_text("\\&{}", c) : std::string(1, c);
    }
  }
  return out;
}

std::string manual(const CLI::App& program) {
  std::string text = ".TH CARMINA 1 \"\" \"carmina " CARMINA_VERSION "\" \"User Commands\"\n.SH NAME\ncarmina \\- ";
  text += roff(program.get_description()) + "\n.SH SYNOPSIS\n.B carmina\n.I COMMAND\n[\\fIOPTIONS\\fR]\n";
  for (const CLI::App* command : commands_of(program)) {
    text += format_text(".SH CARMINA {}\n{}.\n", command->get_name(), roff(command->get_description()));
    for (const std::string& group : command->get_groups()) {
      const auto options = command->get_options([&](const CLI::Option* one) { return one->get_group() == group; });
      if (options.empty() || group.empty()) continue;
      text += format_text(".SS \"{}\"\n", roff(group));
      for (const CLI::Option* option : options) {
        std::string kind = option->get_type_name();
        kind = kind.substr(0, kind.find(':'));
        text += format_text(".TP\n\\fB{}\\fR{}\n{}\n", roff(option->get_name()),
                            kind.empty() ? "" : " \\fI" + roff(kind) + "\\fR", roff(option->get_description()));
      }
    }
  }
  return text +
         ".SH EXIT STATUS\n0: done. 1: something is wrong with a file or a value. 2: the command line could not be "
         "understood.\n";
}

}  // namespace

void group_options(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (const Group& group : groups()) {
      for (const char* name : group.options) {
        if (CLI::Option* option = command->get_option_no_throw(name)) option->group(group.name);
      }
    }
  }
}

void add_completion(CLI::App& program) {
  auto* command =
      program.add_subcommand("completion", "Print what a shell needs to complete commands and options, or the manual");
  command->footer("Example: carmina completion bash > ~/.local/share/bash-completion/completions/carmina");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh, fish, or man: the page for man")
      ->required()
      ->type_name("bash|zsh|fish|man");
  command->callback([shell, &program] {
    const std::map<std::string, std::string (*)(const CLI::App&)> texts = {
        {"bash", bash}, {"zsh", zsh}, {"fish", fish}, {"man", manual}};
    const auto found = texts.find(*shell);
    require(found != texts.end(), "completion: '{}' is not known here; there is bash, zsh, fish, man", *shell);
    print_text("{}", found->second(program));
  });
}

}  // namespace carmina::cli
