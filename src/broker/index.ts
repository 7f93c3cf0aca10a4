export { keeperVariables } from "./environment.ts";
export { keyNotes } from "./notes.ts";
export { keyVariables } from "./providers.ts";
