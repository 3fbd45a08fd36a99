# What an interactive zsh shows when a user types a line and presses Tab: zsh -f offers.zsh FOLDER LINE. FOLDER has the
# completions as `_floe`. Errors of the completions are shown as the user would see them.
setopt extended_glob
zmodload zsh/zpty || exit 1
inner='
PROMPT= PS2=
unset zle_bracketed_paste
setopt no_beep no_list_ambiguous
stty columns 400 rows 100
fpath=('${(q)1}' $fpath)
autoload -Uz compinit && compinit -u -D
bindkey "^I" complete-word
zstyle ":completion:*" list-prompt ""
comppostfuncs=(exit)
print -r -- "--ready--"
'
zpty z zsh -f -i
zpty -w z "source =(print -r -- ${(q)inner})"
while zpty -r z line; do [[ $line == (--ready--)* ]] && break; done
zpty -n -w z "$2"$'\t'
while zpty -r z line; do
    # Without what moves the cursor and deletes to the end of a line.
    print -r -- ${${line%%$'\r'*}//$'\e['[0-9;?]#[A-Za-z]/}
done
