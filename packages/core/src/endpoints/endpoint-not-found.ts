import { AppError } from '../kernel/app-error';

export function endpointNotFound(): AppError {
  return new AppError('not_found', 'There is no webhook with this id.');
}
