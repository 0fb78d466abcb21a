import { answer } from "./answer.mjs";

/** Complete the Task that waits with the token of the event. */
export async function handler({ token, result }) {
  await answer(process.env.ANSWERS, { taskToken: token, output: JSON.stringify(result) });
}
