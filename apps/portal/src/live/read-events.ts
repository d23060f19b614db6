export interface StreamEvent {
  readonly name: string;
  readonly data: string;
  /** The `Last-Event-ID` for the next connection; undefined: unchanged. */
  readonly id: string | undefined;
}

/** The events of a `text/event-stream`, as they come; comments are left out. https://html.spec.whatwg.org/#server-sent-events */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onSignOfLife: () => void,
): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let fields = new Map<string, string>();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onSignOfLife();
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line !== '') {
          addField(fields, line);
          continue;
        }
        const event = eventOf(fields);
        fields = new Map();
        if (event) yield event;
      }
    }
  } finally {
    // A reader that stops wants nothing more from the server.
    await reader.cancel().catch(() => undefined);
  }
}

function addField(fields: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (name === '') return;
  const former = fields.get(name);
  fields.set(name, name === 'data' && former !== undefined ? `${former}\n${value}` : value);
}

function eventOf(fields: ReadonlyMap<string, string>): StreamEvent | undefined {
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { name: fields.get('event') ?? 'message', data, id: fields.get('id') };
}
