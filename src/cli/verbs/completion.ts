import { Argument, type Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { bareVerb } from "../verb.ts";

const scripts = {
  bash: (names: string) => `_holdfast() {
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names}" -- "\${COMP_WORDS[COMP_CWORD]}"))
  else
    COMPREPLY=($(compgen -W "$(holdfast ls --all --json 2>/dev/null | grep -o '"id":"sess_[0-9a-z]*' | cut -c7- | sort -u)" -- "\${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -o default -F _holdfast holdfast`,
  zsh: (names: string) => `#compdef holdfast
_holdfast() {
  if (( CURRENT == 2 )); then
    compadd ${names}
  else
    compadd -- \${(f)"$(holdfast ls --all --json 2>/dev/null | grep -o '"id":"sess_[0-9a-z]*' | cut -c7- | sort -u)"}
    _files
  fi
}
compdef _holdfast holdfast`,
  fish: (names: string) => `complete -c holdfast -n __fish_use_subcommand -f -a "${names}"
complete -c holdfast -n "not __fish_use_subcommand" -a "(holdfast ls --all --json 2>/dev/null | string match -ra '(?<="id":")sess_[0-9a-z]+' | sort -u)"`,
};

export function command(verbNames: readonly string[]): Command {
  return bareVerb("completion", "Print a completion script for your shell.", [
    'eval "$(holdfast completion bash)"',
    "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
  ])
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts, options: { json?: boolean }) => {
      const script = scripts[shell](verbNames.join(" "));
      if (options.json) sayJson({ shell, script });
      else say(script);
    });
}
