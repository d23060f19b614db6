/** What stands between backticks is code, as in Markdown. */
export function TextWithCode({ text }: { readonly text: string }) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
