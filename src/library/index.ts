export { Holdfast, openHoldfast } from "./holdfast.ts";
