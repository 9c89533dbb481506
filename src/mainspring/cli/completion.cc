// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <fmt/core.h>

#include "mainspring/cli/subcommands.h"

namespace mainspring::cli {
namespace {

struct CommandWords {
  std::string name;
  std::string about;
  std::vector<std::string> flags;
  std::vector<std::string> abouts;  // one per flag
};

// Read from the flags themselves, so that a new one completes without further work.
std::vector<CommandWords> words_of(const CLI::App& app) {
  std::vector<CommandWords> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandWords words{.name = command->get_name(), .about = command->get_description()};
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        words.flags.push_back("--" + name);
        words.abouts.push_back(option->get_description());
      }
    }
    all.push_back(std::move(words));
  }
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string for_bash(const std::vector<CommandWords>& commands) {
  std::string text =
      "_mainspring() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
      "  case ${COMP_WORDS[1]} in\n";
  std::vector<std::string> names;
  for (const CommandWords& command : commands) {
    names.push_back(command.name);
    const std::string extra = command.name == "completion" ? "bash zsh fish " : "";
    text += fmt::format("    {}) words=\"{}{}\" ;;\n", command.name, extra, joined(command.flags));
  }
  text += fmt::format(
      "  esac\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then words=\"{}\"; fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  if [[ $COMP_CWORD -gt 1 && $word != -* ]]; then COMPREPLY+=($(compgen -f -- \"$word\")); "
      "fi\n"
      "}}\n"
      "complete -o filenames -F _mainspring mainspring\n",
      joined(names));
  return text;
}

std::string quoted(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (character == '\'') {
      result += "'\\''";
    } else if (character == '[' || character == ']' || character == ':') {
      result += std::string("\\") + character;
    } else {
      result += character;
    }
  }
  return result;
}

std::string for_zsh(const std::vector<CommandWords>& commands) {
  std::string text = "#compdef mainspring\n_mainspring() {\n  local -a commands\n  commands=(\n";
  for (const CommandWords& command : commands) {
    text += fmt::format("    '{}:{}'\n", command.name, quoted(command.about));
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  case $words[2] in\n";
  for (const CommandWords& command : commands) {
    text += fmt::format("    {}) _arguments", command.name);
    for (size_t i = 0; i < command.flags.size(); ++i) {
      text += fmt::format(" '{}[{}]'", command.flags[i], quoted(command.abouts[i]));
    }
    const bool shells = command.name == "completion";
    text += shells ? " '*:shell:(bash zsh fish)' ;;\n" : " '*:file:_files' ;;\n";
  }
  text += "  esac\n}\ncompdef _mainspring mainspring\n";
  return text;
}

std::string fish_quoted(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (character == '\'' || character == '\\') result += '\\';
    result += character;
  }
  return result;
}

std::string for_fish(const std::vector<CommandWords>& commands) {
  std::string text;
  for (const CommandWords& command : commands) {
    text += fmt::format("complete -c mainspring -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        command.name, fish_quoted(command.about));
    for (size_t i = 0; i < command.flags.size(); ++i) {
      text +=
          fmt::format("complete -c mainspring -n '__fish_seen_subcommand_from {}' -l {} -d '{}'\n",
                      command.name, command.flags[i].substr(2), fish_quoted(command.abouts[i]));
    }
  }
  text +=
      "complete -c mainspring -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
  return text;
}

ExitCode print_completion(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandWords> commands = words_of(app);
  fmt::print("{}", shell == "bash"  ? for_bash(commands)
                   : shell == "zsh" ? for_zsh(commands)
                                    : for_fish(commands));
  return ExitCode::kOk;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "Print completion for your shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "\nExamples:\n"
      "  source <(mainspring completion bash)\n"
      "  mainspring completion zsh > ~/.zfunc/_mainspring\n"
      "  mainspring completion fish > ~/.config/fish/completions/mainspring.fish");
  command->callback(
      [&app, &action, shell] { action = [&app, shell] { return print_completion(app, *shell); }; });
}

}  // namespace mainspring::cli
