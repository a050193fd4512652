// Runs the mod's check outside of Claude Code: `node mod.mjs REGISTER_JS`, cases as JSON on standard input.
// `$` is what the client gives a mod, on the real file system.

import fs from 'node:fs/promises'
import { pathToFileURL } from 'node:url'

const { register } = await import(pathToFileURL(process.argv[2]).href)
const handlers = {}
register((event, ...rest) => (handlers[event] = rest.at(-1)))

const input = []
for await (const chunk of process.stdin) input.push(chunk)
const answers = []
for (const one of JSON.parse(Buffer.concat(input).toString())) {
  const $ = {
    session: { id: async () => one.session, root: async () => one.root, cwd: async () => one.cwd ?? one.root },
    env: { get: async (name) => one.environment?.[name] },
    clock: { now: async () => Date.now() },
    fs: {
      exists: async (path) => fs.access(path).then(() => true, () => false),
      read: async (path) => fs.readFile(path, 'utf8'),
    },
  }
  const asked = { tool: one.tool, input: one.input, tool_use_id: 'toolu_1' }
  const verdict = await handlers['tool.check']($, asked, async () => ({ decision: 'allow' }))
  answers.push(verdict.decision === 'deny' ? verdict.reason : '')
}
console.log(JSON.stringify(answers))
