import { responses } from '@hookferry/receiver';

/** What happens with each event, by its type. A handler that throws has the event sent again later. */
export const handlers = {
  'order.created': async ({ id, data }) => {
    if (typeof data.id !== 'string') return responses.abort(); // To send it again would not help.
    console.log(`${id}: the order ${data.id} was created`);
  },
};

/** Events of all other types. They count as delivered. */
export function otherwise({ id, type }) {
  console.log(`${id}: nothing to do for ${type}`);
}
