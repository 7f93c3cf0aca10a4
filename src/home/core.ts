/**
 * The second entrance, for those who only wait most of the time: what needs no files, and loads nothing that does.
 */
export { type Home, notFound, sessionDirOf } from "./home.ts";
export { resumeSession } from "./lifecycle.ts";
export { myself, readPlace, withLine } from "./line.ts";
export { openHome } from "./open.ts";
export { isSameToken, readToken } from "./token.ts";
