export { LocalHome, openLocalHome } from "./local-home.ts";
