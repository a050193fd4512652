# Holdfast's hook launcher. Its comments are in `holdfast/clients/hook.sh` of the package.
# CLIENT EVENT [unread | pending ROOT] are the parameters, the client's payload is on standard input. `holdfast init`
# writes it, without the comments below the first line: bash takes its time for them, too. Clients' settings source
# it or run it with /bin/sh. It ends with 0 whatever happens, because clients read 2 as "block", and prints only an
# answer that the client reads.
#
# The usual events cost no other process: Python leaves marks that say "nothing to say here", and only
# where all of them are found does this file decide alone. A missing mark means "ask Python".
#
# A shell parses a command, runs it, and only then parses the next one. Parsing is most of bash's time here. So
# what the usual events need stands first, in few and short commands, and ends the hook.
here=@HERE@
set +e +u -f
# A copy of a session that is asked one question is no work.
[ -z "$_HOLDFAST_COPY" ] || exit 0
client=$1 event=$2 unread=$3 start='' usual='' has_payload='' payload=''
case $event in
PreToolUse | BeforeTool | tool.execute.before) means=tool ;;
PostToolUse | PostToolUseFailure | AfterTool | tool.execute.after) means=used ;;
Stop | AfterAgent | PreCompact | SessionEnd) means=turn ;;
PreCompress) means=compress ;;
UserPromptSubmit | BeforeAgent) means=prompt ;;
*) means=other ;;
esac
case $client in
# Codex names no session to its hooks; its process runs one at a time. Copilot CLI does as Codex.
codex) session=$PPID ;;
# Copilot CLI runs the hooks in Claude Code's settings, also in a shell of Claude Code's.
claude) [ "$COPILOT_PROJECT_DIR" ] && session='' || session=$CLAUDE_CODE_SESSION_ID start=$CLAUDE_PROJECT_DIR ;;
gemini) session=$GEMINI_SESSION_ID start=$GEMINI_PROJECT_DIR ;;
copilot) session=$PPID start=$COPILOT_PROJECT_DIR ;;
# Its plugin runs this file itself; the settings of the other clients have this trap and this redirection.
opencode) trap 'exit 0' 0 && exec 2>/dev/null && session=$OPENCODE_SESSION_ID ;;
qwen) session=$QWEN_CODE_SESSION_ID start=$QWEN_PROJECT_DIR ;;
*) session='' ;;
esac
mark=$here/sessions/$client.$session seen=.git/holdfast/worktree/seen/$client.$event
case $session in
# A number; bash takes its time for the ranges of the next pattern.
"$PPID") ;;
'' | .* | *[!A-Za-z0-9_.-]*) mark='' ;;
esac

# The usual events, in tests alone: the session began at the root of its repository and is there, and nothing in
# the workspace could want Python. The mark is read as text and never run: an agent could write it. It only says
# that Python looked; where the workspace is, the client says. No mark begins as a home elsewhere does. Paths from
# the working folder spare bash the expansion of each. Nothing is emptied that is reached through a link, and nothing
# in the work tree.
IFS= read -r line <"$mark" && [ "$HOLDFAST_HOME$line" = "usual $PWD" ] && [ "${start:-$PWD}" = "$PWD" ] &&
  ! [ ! -f .git/holdfast/quiet -o ! -f "$seen" -o -L "$seen" -o -L .git/holdfast/worktree/seen -o \
    -L .git/holdfast/worktree -o -L .git/holdfast -o -L .git -o -e .git/holdfast/latch -o -e .holdfast/latch -o \
    -e .git/holdfast/forward -o -d .git/holdfast/alerts -o -d .autopilot -o -d .git/holdfast/worktree/lives -o \
    -d .holdfast/lives -o -d .git/holdfast/worktree/shared -o -e .git/holdfast/worktree/taking ] && usual=$means
case $usual$unread in
# The time of each client's last event; `doctor` reads it, too.
used*) true >"$seen" && exit 0 ;;
toolunread) [ -e .git/holdfast/worktree/recall ] || { true >"$seen" && exit 0; } ;;
esac
# The payload of a tool, in bash 4 and newer, without the function `is_harmless` below, which bash would have to
# parse first. Where it may be one of those that Python has to see, `is_harmless` decides.
case $usual$unread$BASH_VERSION in
tool[4-9]*)
  IFS= read -r -d '' -N 33554432 payload
  has_payload=$?
  IFS="\\\"'"
  set -- $payload
  IFS=
  case "$has_payload$*" in
  @PERSONS@ | *AskUser* | *_user*) ;;
  1*) true >"$seen" && exit 0 ;;
  esac
  ;;
esac

version=@VERSION@
# Again, for who runs this file and does not source it.
trap 'exit 0' 0
exec 2>/dev/null
IFS=' '
python='' entry='' libraries='' known_root='' private=''
# Another shell, in an environment with a version of bash: it has read nothing.
case $has_payload in [!01]*) has_payload='' ;; esac
[ -d "$start" ] || start=$PWD
if [ "$mark" ] && [ -r "$mark" ] && [ $means != other ]; then
  { IFS= read -r line && IFS= read -r known_root && IFS= read -r known_home && IFS= read -r state &&
    IFS= read -r flags && IFS= read -r turn && IFS= read -r private; } <"$mark" || known_root=''
  # Python made the folder; what stands in its place now is Python's to look at.
  [ -d "$private" ] && [ ! -L "$private" ] && [ -O "$private" ] || known_root=''
fi

# What Python needs to leave marks for this file.
tell_python() {
  export _HOLDFAST_LAUNCHER="$here" _HOLDFAST_VERSION="$version"
  export _HOLDFAST_CLIENT_PID="$PPID"
}

# mksh has no printf of its own, and the client's PATH may lead to none. A second word, which is empty: no end of line.
say() {
  if [ "$KSH_VERSION" ]; then
    print -r ${2+-n} -- "$1"
  else
    printf "%s${2-\\n}" "$1"
  fi
}

# The time of the event, in a file that Python made. Where another thing is in its place, Python looks.
note_time() {
  seen=$private/seen/$client.$event
  [ -f "$seen" ] && [ ! -L "$seen" ] && [ ! -L "$private/seen" ] && true >"$seen"
}

# Nothing to answer: the event is kept in a file, and a process that the client does not wait for takes it
# from there. Of a turn, Python wrote down before what it needs to know; the rest is told by the payload. It ends the
# hook; where the event cannot be kept, Python has to answer.
keep() {
  [ $means = prompt ] && [ -e "$private/recall" ] && is_recalled && return 1
  kept=$private/pending/$client.$event.$session.$$
  if [ -L "$private/pending" ] || [ -e "$kept" ] || [ -L "$kept" ]; then
    [ "$has_payload" ] || has_payload=1 payload=$turn
    return 1
  fi
  # bash 4 takes the payload without a process.
  case $has_payload$BASH_VERSION$event in
  *Stop | *AfterAgent) ;;
  [4-9]*)
    IFS= read -r -d '' -N 33554432 payload
    # Another shell, in an environment with a version of bash, has read nothing and says 2.
    case $? in
    0) has_payload=part ;;
    1) has_payload=1 ;;
    esac
    ;;
  esac
  set -C
  # A state of the work tree is taken behind the prompt; `undo/hooks.py` has the file.
  if [ $means = prompt ]; then
    [ -e "$private/taking" -o -L "$private/taking" ] || true >"$private/taking"
  fi
  case $event in
  Stop | AfterAgent) say "$turn" >"$kept" ;;
  *)
    case $has_payload in
    1) say "$payload" >"$kept" ;;
    part) { say "$payload" '' && /bin/cat; } >"$kept" ;;
    *) [ -x /bin/cat ] && /bin/cat >"$kept" ;;
    esac
    ;;
  esac
  written=$?
  set +C
  if [ $written != 0 ]; then
    [ "$has_payload" ] || has_payload=1 payload=$turn
    return 1
  fi
  tell_python
  # It holds the client's pipe, and empties it: Codex takes a payload that it cannot write for an error. A shell
  # of its own: dash keeps the client's pipe for errors beside the redirection under which this file is read.
  exec 3<&0
  /bin/sh "$here/hook.sh" "$client" "$event" pending "$root" <&3 >/dev/null 2>&1 &
  exit 0
}

# Most prompts and turns need none of what follows.
case $usual$unread in
turn | prompt)
  root=$start
  [ "$known_root" ] && [ "$flags" = 'plain calm' ] && [ ! -e "$state" ] &&
    ! [ $means = prompt -a -d "$private/limits" -o $means = prompt -a -e "$private/recall" ] && note_time && keep
  ;;
esac

# Whether the command of a tool is one that an agent may give. What only a person may do can stand in a shell's
# command. Quotes within a word hide nothing: the text is split at them and put together again.
is_harmless() {
  if [ -z "$has_payload" ]; then
    has_payload=1
    # Shells read a pipe byte by byte. bash 4 can take it in blocks: 1 says that it came to the end.
    [ "$BASH_VERSION" ] && IFS= read -r -d '' -N 33554432 payload
    case $?$BASH_VERSION in
    1?*) ;;
    0*) has_payload=0 ;;
    *)
      while IFS= read -r line || [ -n "$line" ]; do
        payload=$payload${payload:+"
"}$line
      done
      ;;
    esac
  fi
  # Longer than any that Python reads.
  [ $has_payload = 0 ] && return 1
  IFS="\\\"'"
  set -- $payload
  IFS=
  line="$*"
  IFS=' '
  case $line in
  @PERSONS@) return 1 ;;
  # A question of the agent's to its person.
  *AskUserQuestion* | *ask_user* | *request_user_input*) return 1 ;;
  esac
}

# Whether a prompt names a file that earlier sessions edited, or a tool is about to edit one. `memory/earlier.py` has
# the list. Of what a tool is given, the beginning names the file.
is_recalled() {
  [ -f "$private/recall" ] && [ ! -L "$private/recall" ] && [ -x /bin/cat ] && [ -x /bin/dd ] || return 1
  case $means$has_payload in
  prompt) payload=$(/bin/cat) has_payload=1 ;;
  tool) payload=$(/bin/dd bs=4096 count=1) has_payload=part ;;
  esac
  case $means$payload in
  prompt*) ;;
  *'"Edit"'*'"file_path"'* | *'"Write"'*'"file_path"'* | *'"MultiEdit"'*'"file_path"'*)
    line=${payload#*'"file_path"'}
    set -- "${line%%,*}"
    ;;
  *) return 1 ;;
  esac
  # Read in one piece: shells read a file byte by byte, too.
  line='' IFS='
'
  for line in $(/bin/cat "$private/recall"); do
    case $means in
    prompt) case $payload in *"${line##*/}"*) break ;; esac ;;
    *) case $1 in *"/$line\""*) break ;; esac ;;
    esac
    line=''
  done
  IFS=' '
  [ "$line" ]
}

case $usual$unread in
tool) is_harmless && true >"$seen" && exit 0 ;;
toolunread) is_recalled || { true >"$seen" && exit 0; } ;;
esac

# The interpreter and the package to start: those that are written down; else, after a reinstall under
# another Python, what is in the same environment now.
find_python() {
  [ -r "$here/python" ] && . "$here/python"
  [ -n "$entry" ] || return 1
  [ -r "$entry" ] && [ -x "$python" ] && return 0
  if [ -x "$python" ]; then
    set +f
    for found in "${python%/bin/*}"/lib/python3*/site-packages/holdfast/hooks/entry.py; do
      [ -r "$found" ] || continue
      entry=$found libraries=${found%/holdfast/hooks/entry.py}
      set -f
      return 0
    done
    set -f
  fi
  return 1
}

run_python() {
  if find_python; then
    "$python" -I -S "$entry" "$libraries" "$@"
  elif program=$(command -v holdfast) && [ -x "$program" ]; then
    "$program" hook "$@"
  else
    return 127
  fi
}

# One line for the next `holdfast doctor`. A file for each event, so that they stay few and small.
note_failure() {
  find_python
  if [ -z "$python" ]; then
    reason="No installation of holdfast is known to $here/hook.sh."
  elif [ ! -x "$python" ]; then
    reason="$python is not there any more."
  elif [ ! -r "$entry" ]; then
    reason="holdfast is not installed for $python any more."
  else
    reason=$("$python" -I -S -c 'import sys; sys.path[:0] = sys.argv[1:]; import holdfast.hooks.run' \
      "${entry%/holdfast/hooks/entry.py}" "$libraries" 2>&1 </dev/null)
    reason=${reason##*"
"}
    [ -n "$reason" ] || reason="$python ended with $1."
  fi
  say "$reason
$PWD" >"$here/failed/$client.$event"
}

# Let Python answer, and go. When it cannot be started, a stop still denies the tool.
ask() {
  tell_python
  if [ "$has_payload" = part ]; then
    { say "$payload" '' && /bin/cat; } | run_python "$client" "$event"
  elif [ "$has_payload" ]; then
    say "$payload" | run_python "$client" ${event:+"$event"}
  else
    run_python "$client" ${event:+"$event"}
  fi
  status=$?
  [ $status = 0 ] && exit 0
  note_failure "$status"
  [ $means = tool ] && deny_if_stopped
  exit 0
}

if [ "$unread" = pending ]; then
  run_python pending "$4" || note_failure $?
  exit 0
fi

case $usual in turn | prompt) ;; *) usual='' ;; esac
[ $means = prompt ] && [ -d "$private/limits" ] && ask
if [ "$usual" ] && [ "$known_root" ]; then
  root=$start
  [ "$flags" = 'plain calm' ] && [ ! -e "$state" ] && note_time && keep
  ask
fi

# Whatever else may be in a workspace. 1 when Python has to answer; 0 when a turn or a session ends and it need
# not; otherwise this ends the hook.
look() {
  # A stop, an alert, or a journal on a server: Python knows more.
  [ -f "$home/quiet" ] || return 1
  [ -e "$home/latch" ] || [ -e "$root/.holdfast/latch" ] || [ -e "$home/forward" ] && return 1
  if [ -d "$home/alerts" ]; then
    set +f
    for alert in "$home/alerts"/*; do
      [ -e "$alert" ] && set -f && return 1
    done
    set -f
  fi
  # What follows compares this time with the times at which a look is due.
  note_time || return 1
  # A budget or an agent of the fleet is looked at once a minute, and answers a stop.
  [ -d "$root/.autopilot" ] || [ -d "$private/lives" ] || [ -d "$root/.holdfast/lives" ] && flags=''

  case $means in
  used)
    # Another session edited a file of this one's; `hooks/shared_worktree.py` has the folder.
    [ -e "$private/shared/tell" ] && return 1
    [ "$flags" ] && exit 0
    ;;
  tool)
    [ -e "$private/taking" ] && return 1
    if [ "$unread" ]; then
      is_recalled && return 1
    else
      is_harmless || return 1
    fi
    # A budget: what the last call cost is in what the client has just written. `hooks/marks.py` has the file.
    spent=$mark.spent written=''
    [ -f "$spent" ] && IFS= read -r written <"$spent" || spent=$mark.since
    set +f
    for path in "$root/.autopilot/config.yaml" "$written" "$written-wal" "${written%.*}"/subagents/*; do
      [ "$path" -nt "$spent" ] && set -f && return 1
    done
    set -f
    # Two sessions are at work here: Python looks whether they edit the same file.
    [ -d "$private/shared" ] && return 1
    # opencode tells nobody that a tool was used, so that its sessions are looked at here.
    [ "$flags" ] || [ $client != opencode ] && exit 0
    ;;
  prompt)
    [ -e "$private/shared/tell" ] && return 1
    return 0
    ;;
  *) return 0 ;;
  esac
  # Due when the mark's time is past; also when a clock was set back to before it was made.
  [ "$seen" -nt "$mark" ] || [ "$mark.since" -nt "$seen" ] || exit 0
  return 1
}

# The workspace of a folder, as Python finds it: its root, and the home that its worktrees share.
find_home() {
  root='' home=$HOLDFAST_HOME at=$1
  while :; do
    if [ -z "$root" ] && { [ -e "$at/holdfast.toml" ] || [ -d "$at/.holdfast" ]; }; then
      root=$at
    fi
    if [ -d "$at/.git" ]; then
      root=${root:-$at} home=${home:-$at/.git/holdfast}
      return 0
    fi
    if [ -f "$at/.git" ]; then
      IFS= read -r git <"$at/.git"
      git=${git#gitdir: }
      case $git in /*) ;; *) git=$at/$git ;; esac
      if [ -e "$git/commondir" ]; then
        # A shell would wait for a pipe.
        [ -f "$git/commondir" ] || return 1
        IFS= read -r common <"$git/commondir"
        case $common in /*) git=$common ;; *) git=$git/$common ;; esac
      fi
      root=${root:-$at} home=${home:-$git/holdfast}
      return 0
    fi
    [ -n "$at" ] || break
    at=${at%/*}
  done
  home=${home:-$root/.holdfast}
  [ -n "$root" ]
}

# Elsewhere in a workspace, and in its other worktrees.
find_and_look() {
  find_home "$start" || return 1
  [ "$root" = "$known_root" ] || [ "$root" -ef "$known_root" ] || return 1
  [ "$home" = "$known_home" ] || [ "$home" -ef "$known_home" ] || return 1
  # The agent may have gone into another workspace, whose stop holds there as well.
  at=$PWD
  [ "$at" = "$start" ] && at=$root
  while [ "$at" != "$root" ]; do
    [ -n "$at" ] || return 1
    for name in .git .holdfast holdfast.toml pyproject.toml; do
      [ -e "$at/$name" ] && return 1
    done
    at=${at%/*}
  done
  look
}

# Python has to answer, unless a turn ends that has nothing to answer: no loop, no budget, no question.
if [ "$known_root" ] && [ -z "$has_payload" ] && find_and_look; then
  if [ $means = compress ] && [ -e "$mark.captured" ]; then
    [ "$seen" -nt "$mark.captured" ] || [ "$mark.since" -nt "$seen" ] || exit 0
  fi
  [ "$flags" = 'plain calm' ] && [ ! -e "$state" ] && keep
fi

deny_if_stopped() {
  for start in "$CLAUDE_PROJECT_DIR" "$GEMINI_PROJECT_DIR" "$QWEN_PROJECT_DIR" "$COPILOT_PROJECT_DIR" "$PWD"; do
    [ -d "$start" ] && find_home "$start" || continue
    [ -e "$home/latch" ] && deny "$home/latch"
    latch=$root/.holdfast/latch
    [ -f "$latch" ] && [ ! -L "$latch" ] && [ ! -L "$root/.holdfast" ] && [ -O "$latch" ] && deny "$latch"
  done
}

# In the client's own words; the reason stands in the latch as JSON, so that it can be passed on as it is.
deny() {
  text=''
  [ -f "$1" ] && IFS= read -r text <"$1"
  case $text in
  *'"reason":"'*'"}')
    text=${text#*'"reason":"'}
    text=${text%'"}'}
    ;;
  *) text='a stop is set here.' ;;
  esac
  text="Holdfast: $text (holdfast itself cannot be started; a person removes the stop with holdfast release)"
  case $client in
  gemini) say "{\"decision\":\"deny\",\"reason\":\"$text\"}" ;;
  opencode) say "{\"deny\":\"$text\"}" ;;
  *) say "{\"hookSpecificOutput\":{\"hookEventName\":\"$event\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"$text\"}}" ;;
  esac
  exit 0
}

ask
