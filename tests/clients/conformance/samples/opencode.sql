CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1e7a6fe65001Wf231vSTI7JP4W','ses_e18590470ffe1cB34I99rjJpCV',1794887843429,1794887860748,'{"role":"user","time":{"created":1794887843429},"agent":"build","model":{"providerID":"stub","modelID":"stub-model"},"summary":{"diffs":[{"file":"words.py","patch":"Index: words.py\n===================================================================\n--- words.py\t\n+++ words.py\t\n@@ -1,2 +1,2 @@\n def parse(line):\n-    return line.split(\" \")\n+    return line.split()\n","additions":1,"deletions":1,"status":"modified"}]}}');
INSERT INTO "message" VALUES('msg_1e7a71129001nXJipUUyDih4uk','ses_e18590470ffe1cB34I99rjJpCV',1794887848233,1794887856046,'{"parentID":"msg_1e7a6fe65001Wf231vSTI7JP4W","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/proj","root":"/home/dev/proj"},"cost":0,"tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-model","providerID":"stub","time":{"created":1794887848233,"completed":1794887856044},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1e7a72fd00015q90VOsAZ3BoQt','ses_e18590470ffe1cB34I99rjJpCV',1794887856080,1794887857742,'{"parentID":"msg_1e7a6fe65001Wf231vSTI7JP4W","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/proj","root":"/home/dev/proj"},"cost":0,"tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-model","providerID":"stub","time":{"created":1794887856080,"completed":1794887857740},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1e7a7365e001rbmIP8ZPrLgYuK','ses_e18590470ffe1cB34I99rjJpCV',1794887857758,1794887859964,'{"parentID":"msg_1e7a6fe65001Wf231vSTI7JP4W","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/proj","root":"/home/dev/proj"},"cost":0,"tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-model","providerID":"stub","time":{"created":1794887857758,"completed":1794887859954},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1e7a73f09001VxibHJXz9397nj','ses_e18590470ffe1cB34I99rjJpCV',1794887859977,1794887861329,'{"parentID":"msg_1e7a6fe65001Wf231vSTI7JP4W","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/proj","root":"/home/dev/proj"},"cost":0,"tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-model","providerID":"stub","time":{"created":1794887859977,"completed":1794887861317},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1e7a6fec4001CVjrjCEGV0SRaY','msg_1e7a6fe65001Wf231vSTI7JP4W','ses_e18590470ffe1cB34I99rjJpCV',1794887848083,1794887848087,'{"type":"text","text":"\"Keep the quotes in words.py. Do not touch the tests.\""}');
INSERT INTO "part" VALUES('prt_1e7a72b3f001HRoTWJcVJaTaWx','msg_1e7a71129001nXJipUUyDih4uk','ses_e18590470ffe1cB34I99rjJpCV',1794887854912,1794887854914,'{"snapshot":"fcb1752f44585aa526346cbce506857fd5437f75","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e7a72b51001u43g1aLDVo7HjB','msg_1e7a71129001nXJipUUyDih4uk','ses_e18590470ffe1cB34I99rjJpCV',1794887854930,1794887855343,'{"type":"tool","tool":"read","callID":"call_0002","state":{"status":"completed","input":{"filePath":"/home/dev/proj/words.py"},"output":"<path>/home/dev/proj/words.py</path>\n<type>file</type>\n<content>\n1: def parse(line):\n2:     return line.split(\" \")\n\n(End of file - total 2 lines)\n</content>","metadata":{"preview":"def parse(line):\n    return line.split(\" \")","truncated":false,"loaded":[],"display":{"type":"file","path":"/home/dev/proj/words.py","text":"def parse(line):\n    return line.split(\" \")","lineStart":1,"lineEnd":2,"totalLines":2,"truncated":false}},"title":"words.py","time":{"start":1794887855016,"end":1794887855339}}}');
INSERT INTO "part" VALUES('prt_1e7a72e5a001f2X1CVQI00kif4','msg_1e7a71129001nXJipUUyDih4uk','ses_e18590470ffe1cB34I99rjJpCV',1794887855706,1794887855722,'{"reason":"tool-calls","snapshot":"fcb1752f44585aa526346cbce506857fd5437f75","type":"step-finish","tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1e7a731710012optJFzCM6O1fb','msg_1e7a72fd00015q90VOsAZ3BoQt','ses_e18590470ffe1cB34I99rjJpCV',1794887856497,1794887856500,'{"snapshot":"fcb1752f44585aa526346cbce506857fd5437f75","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e7a73176001wUgd5Vbu7qSZaC','msg_1e7a72fd00015q90VOsAZ3BoQt','ses_e18590470ffe1cB34I99rjJpCV',1794887856502,1794887856666,'{"type":"tool","tool":"edit","callID":"call_0003","state":{"status":"completed","input":{"filePath":"/home/dev/proj/words.py","oldString":"    return line.split(\" \")","newString":"    return line.split()"},"output":"Edit applied successfully.","metadata":{"diagnostics":{},"diff":"Index: /home/dev/proj/words.py\n===================================================================\n--- /home/dev/proj/words.py\n+++ /home/dev/proj/words.py\n@@ -1,2 +1,2 @@\n def parse(line):\n-    return line.split(\" \")\n+    return line.split()\n","filediff":{"file":"/home/dev/proj/words.py","patch":"Index: /home/dev/proj/words.py\n===================================================================\n--- /home/dev/proj/words.py\n+++ /home/dev/proj/words.py\n@@ -1,2 +1,2 @@\n def parse(line):\n-    return line.split(\" \")\n+    return line.split()\n","additions":1,"deletions":1},"truncated":false},"title":"words.py","time":{"start":1794887856542,"end":1794887856664}}}');
INSERT INTO "part" VALUES('prt_1e7a734e8001Kr4J0JCphP2J6T','msg_1e7a72fd00015q90VOsAZ3BoQt','ses_e18590470ffe1cB34I99rjJpCV',1794887857385,1794887857387,'{"reason":"tool-calls","snapshot":"4a3a50d808327f2b0e311ddc3b7a6014f3f0296f","type":"step-finish","tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1e7a736340012g2zdW4iNMeh83','msg_1e7a72fd00015q90VOsAZ3BoQt','ses_e18590470ffe1cB34I99rjJpCV',1794887857717,1794887857732,'{"type":"patch","hash":"fcb1752f44585aa526346cbce506857fd5437f75","files":["/home/dev/proj/words.py"]}');
INSERT INTO "part" VALUES('prt_1e7a739cd001ueJYnTsw86rj4a','msg_1e7a7365e001rbmIP8ZPrLgYuK','ses_e18590470ffe1cB34I99rjJpCV',1794887858637,1794887858649,'{"snapshot":"4a3a50d808327f2b0e311ddc3b7a6014f3f0296f","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e7a739e0001zZOhS0b1yujC25','msg_1e7a7365e001rbmIP8ZPrLgYuK','ses_e18590470ffe1cB34I99rjJpCV',1794887858657,1794887859371,'{"type":"tool","tool":"bash","callID":"call_0004","state":{"status":"completed","input":{"command":"python3 check_words.py","description":"as the test says"},"output":"AssertionError: quotes were lost\n","metadata":{"output":"AssertionError: quotes were lost\n","exit":3,"truncated":false},"title":"python3 check_words.py","time":{"start":1794887858702,"end":1794887859357}}}');
INSERT INTO "part" VALUES('prt_1e7a73dae001PDwQgmCBoDKUQF','msg_1e7a7365e001rbmIP8ZPrLgYuK','ses_e18590470ffe1cB34I99rjJpCV',1794887859630,1794887859638,'{"reason":"tool-calls","snapshot":"4a3a50d808327f2b0e311ddc3b7a6014f3f0296f","type":"step-finish","tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1e7a741900015TZfsDrLK4O0zD','msg_1e7a73f09001VxibHJXz9397nj','ses_e18590470ffe1cB34I99rjJpCV',1794887860624,1794887860626,'{"snapshot":"4a3a50d808327f2b0e311ddc3b7a6014f3f0296f","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e7a74198001gfGmsWQwRt21Tp','msg_1e7a73f09001VxibHJXz9397nj','ses_e18590470ffe1cB34I99rjJpCV',1794887860632,1794887860647,'{"type":"text","text":"The test still fails. Next: use shlex.split in parse().","time":{"start":1794887860632,"end":1794887860642}}');
INSERT INTO "part" VALUES('prt_1e7a742f8001AXpP0aJD9N0pkj','msg_1e7a73f09001VxibHJXz9397nj','ses_e18590470ffe1cB34I99rjJpCV',1794887860985,1794887860988,'{"reason":"stop","snapshot":"4a3a50d808327f2b0e311ddc3b7a6014f3f0296f","type":"step-finish","tokens":{"total":1276,"input":1234,"output":42,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
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
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_e18590470ffe1cB34I99rjJpCV','global',NULL,NULL,'shiny-falcon','/home/dev/proj','','Done.','1.18.33',NULL,0,0,0,NULL,NULL,0.0,4936,168,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"stub-model","providerID":"stub","variant":"default"}',1794887842704,1794887861350,NULL,NULL);
CREATE TABLE `todo` (
          `session_id` text NOT NULL,
          `content` text NOT NULL,
          `status` text NOT NULL,
          `priority` text NOT NULL,
          `position` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `todo_pk` PRIMARY KEY(`session_id`, `position`),
          CONSTRAINT `fk_todo_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
