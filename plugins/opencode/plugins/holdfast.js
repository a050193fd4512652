// Holdfast in opencode, which has no hooks for a shell: each event that matters is handed to
// holdfast's own hook, with the event as JSON on standard input, and its one JSON object is obeyed:
// {"context": text} stands in the agent's context, {"deny": reason} stops a tool, {"prompt": text}
// drives the agent on. Whatever goes wrong here, the agent goes on.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = ["holdfast", "hook"]
const PATIENCE = 20_000 // milliseconds
const LARGEST_ANSWER = 4 * 1024 * 1024 // bytes

// Synchronous, because `opencode run` ends at once when its session is idle and waits for nobody.
function ask(event, directory, session, payload = {}) {
  try {
    const [program, ...words] = COMMAND
    const told = { hook_event_name: event, session_id: session, cwd: directory, ...payload }
    const done = spawnSync(program, [...words, "opencode", event], {
      cwd: directory,
      env: { ...process.env, OPENCODE_SESSION_ID: session },
      input: JSON.stringify(told),
      encoding: "utf8",
      timeout: PATIENCE,
      maxBuffer: LARGEST_ANSWER,
      stdio: ["pipe", "pipe", "ignore"],
    })
    const answer = done.stdout && done.stdout.trim() ? JSON.parse(done.stdout) : {}
    return answer && typeof answer === "object" ? answer : {}
  } catch {
    return {}
  }
}

// The same for what a person may answer elsewhere, for as long as the hook waits: opencode's own dialogue is open.
function askBeside(event, directory, session, payload) {
  return new Promise((resolve) => {
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, "opencode", event], {
      cwd: directory,
      env: { ...process.env, OPENCODE_SESSION_ID: session },
      stdio: ["pipe", "pipe", "ignore"],
    })
    let said = ""
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (text) => { said += text })
    child.on("close", () => {
      try { resolve(JSON.parse(said)) } catch { resolve({}) }
    })
    child.stdin.end(JSON.stringify({ hook_event_name: event, session_id: session, cwd: directory, ...payload }))
  })
}

const ANSWERS = ["permission.replied", "question.replied", "question.rejected"]

// What a person is asked, in Claude Code's words.
function questionOf({ permission, metadata, patterns, questions }) {
  if (questions) return { tool_name: "question", tool_input: { questions } }
  const about = metadata?.command ?? metadata?.filepath ?? (patterns ?? []).join(" ")
  const isShell = permission === "bash"
  return { tool_name: permission, tool_input: isShell ? { command: about } : { path: about } }
}

// Put in place twice, by `holdfast init` and by hand, it works once.
const awake = (globalThis[Symbol.for("holdfast")] ??= new Set())

export const Holdfast = async ({ client, directory }) => {
  if (awake.has(directory)) return {}
  awake.add(directory)
  const roots = new Map() // a session, and the one that a person started it from
  const born = new Set() // sessions that began in this process
  const told = new Map() // what it reads with its last prompt
  const packs = new Map() // what a session reads at its start, for as long as it lives
  const driven = new Set() // sessions whose last stop was answered

  // A subagent is a session of its own here. It takes nobody's work over and ends nobody's.
  async function rootOf(session) {
    if (!roots.has(session)) {
      let root = session
      try {
        const found = await client.session.get({ path: { id: session } })
        if (found.data && found.data.parentID) root = await rootOf(found.data.parentID)
      } catch {}
      roots.set(session, root)
    }
    return roots.get(session)
  }

  function begin(session, source) {
    const answer = ask("SessionStart", directory, session, { source })
    packs.set(session, typeof answer.context === "string" ? answer.context : "")
  }

  // opencode answers events in order, so nobody waits for this.
  async function beside(asked, session) {
    const { permit } = await askBeside("PermissionRequest", directory, session, questionOf(asked))
    if (!permit) return
    const path = { requestID: asked.id }
    const post = (url, body) => client._client.post({ url, path, body, headers: { "content-type": "application/json" } })
    if (asked.questions) await post("/question/{requestID}/reply", { answers: permit.chosen })
    else if (permit.allow) await post("/permission/{requestID}/reply", { reply: "once" })
    else await post("/permission/{requestID}/reply", { reply: "reject", message: permit.message })
  }

  async function stopped(session) {
    const answer = ask("Stop", directory, session, { stop_hook_active: driven.has(session) })
    driven.delete(session)
    if (typeof answer.prompt !== "string" || !answer.prompt) return
    driven.add(session)
    const parts = [{ type: "text", text: answer.prompt }]
    await client.session.promptAsync({ path: { id: session }, body: { parts } })
  }

  return {
    event: async ({ event }) => {
      try {
        const { sessionID, info } = event.properties ?? {}
        if (event.type === "session.created") born.add(info.id)
        if (event.type === "permission.asked" || event.type === "question.asked") {
          beside(event.properties, await rootOf(sessionID)).catch(() => {})
        }
        if (ANSWERS.includes(event.type)) ask("Answered", directory, await rootOf(sessionID))
        if (event.type !== "session.idle" && event.type !== "session.compacted") return
        if ((await rootOf(sessionID)) !== sessionID) return
        if (event.type === "session.idle") await stopped(sessionID)
        else begin(sessionID, "compact")
      } catch {}
    },

    "chat.message": async ({ sessionID }, output) => {
      if ((await rootOf(sessionID)) !== sessionID) return
      if (!packs.has(sessionID)) begin(sessionID, born.has(sessionID) ? "startup" : "resume")
      // By its words the hook knows its own prompt from a person's.
      const prompt = (output?.parts ?? []).map((part) => part.text ?? "").join("\n")
      told.set(sessionID, ask("UserPromptSubmit", directory, sessionID, { prompt }).context)
    },

    // The system prompt is put together anew for every request, so the pack stands in each once, and so does what a
    // prompt was answered with.
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const pack = packs.get(sessionID)
      if (pack) output.system.push(pack)
      const said = told.get(sessionID)
      if (said) output.system.push(said)
    },

    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const root = await rootOf(sessionID)
      const call = { tool_name: tool, tool_input: output.args, tool_use_id: callID }
      const answer = ask("PreToolUse", directory, root, call)
      if (answer.deny) throw new Error(String(answer.deny))
    },

    // So that a command in the agent's shell knows whose it is, as other clients' shells let it.
    "shell.env": async ({ sessionID }, output) => {
      if (sessionID) output.env.OPENCODE_SESSION_ID = await rootOf(sessionID)
    },

    "experimental.session.compacting": async ({ sessionID }, output) => {
      if ((await rootOf(sessionID)) !== sessionID) return
      const answer = ask("PreCompact", directory, sessionID, { trigger: "auto" })
      if (typeof answer.context === "string" && answer.context) output.context.push(answer.context)
    },

    dispose: async () => {
      for (const session of packs.keys()) ask("SessionEnd", directory, session, { reason: "exit" })
      packs.clear()
      awake.delete(directory)
    },
  }
}
