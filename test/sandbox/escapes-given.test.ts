/**
 * What a task gets from the user without being asked: variables, and the directories of PATH.
 */
import { describe, expect, it } from "vitest";
import { baseEnvironment } from "../../src/process/index.ts";
import { UserHome } from "../support/user-home.ts";

describe("what a task is given", () => {
  it("language variables that are set are passed on, and none that only has a similar name", () => {
    const before = { ...process.env };
    Object.assign(process.env, { LC_TIME: "C", LC_TOKEN: "PLANTED", LC_: "PLANTED" });
    try {
      const passed = baseEnvironment({});
      expect(passed).toMatchObject({ LC_TIME: "C" });
      expect(Object.values(passed)).not.toContain("PLANTED");
    } finally {
      process.env = before;
    }
  });

  it("view-2 links in the checkout open nothing of the user's, whether PATH, a variable or the user leads through them", () => {
    using user = new UserHome();
    user.file("papers/clients/list.txt", "PLANTED");
    user.file("tools/bin/tool");
    user.file("checkout/bin/own");
    user.link("checkout/bin/tool", "../../papers/clients/list.txt");
    user.link("checkout/linked", "../papers/clients");
    user.link("elsewhere/tool", user.file("papers/clients/run"));
    const checkout = user.at("checkout");
    const env = { JAVA_HOME: user.at("checkout/linked") };
    const shown = (more: object) =>
      user.tools(["checkout/bin", "checkout/linked"], { checkout, env, ...more }).read;
    expect(shown({})).toEqual([]);
    expect(shown({ read: [user.at("checkout/linked")] })).toEqual([]);
    // The same places, where no repo says so.
    expect(user.tools(["elsewhere"], { checkout }).read).toContain(user.at("papers/clients"));
    expect(shown({ checkout: undefined })).toContain(user.at("papers/clients"));
  });
});
