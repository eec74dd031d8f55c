import { updateSettings } from "@clack/prompts";

export { cancel, confirm, isCancel, multiselect, password, select, text } from "@clack/prompts";

const CTRL_D = "\x04";

// Ctrl-C cancels a question by default; Ctrl-D does, too.
updateSettings({ aliases: { [CTRL_D]: "cancel" } });
