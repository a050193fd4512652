CREATE TABLE `session` (
  `id` text PRIMARY KEY,
  `project_id` text NOT NULL,
  `workspace_id` text,
  `parent_id` text,
  `slug` text NOT NULL,
  `directory` text NOT NULL,
  `path` text,
  `title` text NOT NULL,
  `version` text NOT NULL,
  `share_url` text,
  `summary_additions` integer,
  `summary_deletions` integer,
  `summary_files` integer,
  `summary_diffs` text,
  `metadata` text,
  `cost` real DEFAULT 0 NOT NULL,
  `tokens_input` integer DEFAULT 0 NOT NULL,
  `tokens_output` integer DEFAULT 0 NOT NULL,
  `tokens_reasoning` integer DEFAULT 0 NOT NULL,
  `tokens_cache_read` integer DEFAULT 0 NOT NULL,
  `tokens_cache_write` integer DEFAULT 0 NOT NULL,
  `revert` text,
  `permission` text,
  `agent` text,
  `model` text,
  `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL,
  `time_compacting` integer,
  `time_archived` integer
);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
CREATE TABLE `message` (
  `id` text PRIMARY KEY,
  `session_id` text NOT NULL,
  `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL,
  `data` text NOT NULL
);
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
INSERT INTO session VALUES('ses_e1e68d07affeIwNaHrDOfaphjW', 'global', NULL, NULL, 'calm-rocket', '/home/dev/proj', '', 'STUB-ANSWER', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0067205, 1123, 35, 7, 111, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"claude-opus-5-5","providerID":"stub","variant":"default"}', 1794786144133, 1794786149887, NULL, NULL);
INSERT INTO message VALUES('msg_1e19730e90012bSqMQo5bHwkQI', 'ses_e1e68d07affeIwNaHrDOfaphjW', 1794786144492, 1794786147620, '{"role":"user","time":{"created":1794786144492},"agent":"build","model":{"providerID":"stub","modelID":"claude-opus-5-5"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES('msg_1e1973acf001kn3GkoHoxIhiWJ', 'ses_e1e68d07affeIwNaHrDOfaphjW', 1794786147023, 1794786149879, '{"parentID":"msg_1e19730e90012bSqMQo5bHwkQI","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/proj","root":"/home/dev/proj"},"cost":0.0067205,"tokens":{"total":1276,"input":1123,"output":35,"reasoning":7,"cache":{"write":0,"read":111}},"modelID":"claude-opus-5-5","providerID":"stub","time":{"created":1794786147023,"completed":1794786149874},"finish":"stop"}');
