import { AppError } from '../kernel/app-error';

export function eventNotFound(): AppError {
  return new AppError('not_found', 'There is no event with this id.');
}
