--- Writes a key that soon goes again. Gives why Redis refuses to, as a value: an error would have the library connect again and
--- repeat it, and nobody would learn the reason.
---@key check
---@param for_ms digits
---@return text?
function try_write(check, for_ms)
  return redis.pcall('SET', check, '', 'PX', for_ms).err
end
