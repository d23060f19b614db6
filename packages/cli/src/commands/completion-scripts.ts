import type { Words } from './completion';

export type Shell = 'bash' | 'zsh' | 'fish';

/** A script for each shell. It knows the words by heart: completing starts no program. */
export const completionScripts: Readonly<Record<Shell, (words: Words) => string>> = {
  bash: (words) => `# bash completion of hookferry
_hookferry() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  local words=""
  case "$path" in
${casesOf(words, (path, list) => `    ${posixPattern(path)}) words="${list}" ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _hookferry hookferry
`,
  zsh: (words) => `#compdef hookferry
_hookferry() {
  local joined="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] || joined="\${joined:+$joined }$word"
  done
  case "$joined" in
${casesOf(words, (path, list) => `    ${posixPattern(path)}) compadd -- ${list} ;;`)}
    *) _files ;;
  esac
}
compdef _hookferry hookferry
`,
  fish: (words) => `# fish completion of hookferry
function __hookferry_words
  set -l path
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; or set -a path $word
  end
  switch "$path"
${casesOf(words, (path, list) => `    case ${fishPattern(path)}\n      string split ' ' -- '${list}'`)}
  end
end
complete -c hookferry -f -a '(__hookferry_words)'
`,
};

/** With arguments behind it, a command still has its flags: the longest first, so that each is met. */
function casesOf(words: Words, toCase: (path: string, list: string) => string): string {
  return [...words]
    .sort(([a], [b]) => b.length - a.length)
    .map(([path, list]) => toCase(path, list.join(' ')))
    .join('\n');
}

function posixPattern(path: string): string {
  return path === '' ? '""' : `"${path}"|"${path} "*`;
}

function fishPattern(path: string): string {
  return path === '' ? "''" : `'${path}' '${path} *'`;
}
