import Events
import Redis

/// Changes that must be atomic; each script is declared beside its caller.
///
/// All keys are declared. Scripts remove before they add, so that Redis accepts them when it is out of memory.
package enum RegistryScripts {
  static let eventful = [
    cleanUser, removeStale, deactivate, registerInstance, register, unregister, unregisterAll, replace, forget, evict,
  ]

  /// The scripts whose keys are in one hash slot, if they make no events.
  static let ofOneSlot = [deactivate.plain, registerInstance.plain]

  /// Lua functions. `read` returns the object of a metadata key, or nil if it is missing or cannot be read; `time` returns
  /// nil for what cannot be a time, because infinity cannot be written; `misfits` returns an error reply if a key has
  /// another type.
  package static let read = """
    local function read(key)
      local text = redis.pcall('GET', key)
      if type(text) ~= 'string' then return nil end
      local ok, value = pcall(cjson.decode, text)
      if not ok or type(value) ~= 'table' then return nil end
      return value
    end
    local function text(value) if type(value) == 'string' then return value end return '' end
    local function time(value)
      if type(value) == 'number' and math.abs(value) < 9e15 then return value end
    end
    local function fits(key, kind)
      local found = redis.call('TYPE', key).ok
      return found == 'none' or found == kind
    end
    local function misfits(kinds)
      for i, kind in pairs(kinds) do
        if not fits(KEYS[i], kind) then return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is not a ' .. kind) end
      end
    end
    local function owner(value) return text(value.username):match('^%s*(.-)%s*$'):lower() end

    """

  /// ``read``, and what makes events.
  static let reading = read + EventfulScript.devices

  /// Lua functions behind ``reading`` that keep a user's devices within their limits.
  static let room = """
    -- Returns how many devices must be removed before `token` can be added, and the entries of the set. A set within the
    -- limit of one app has room. Of a larger one the caller must have read the devices: `number` must leave, as long as
    -- the set has `size` entries; else it returns -1.
    local function demand(set, token, limit, size, number)
      local count = redis.call('SCARD', set)
      if count + 1 - redis.call('SISMEMBER', set, token) <= tonumber(limit) then return 0, count end
      if size ~= '*' and tonumber(size) ~= count then return -1, count end
      return tonumber(number), count
    end
    -- Removes up to `most` devices of a user. Their keys begin at KEYS[k], their arguments at ARGV[a]. A device whose
    -- metadata has changed since it was read is kept.
    local function evict(set, user, most, k, a)
      local gone = 0
      for i = k, #KEYS, 2 do
        if gone >= most then break end
        local found = redis.pcall('GET', KEYS[i])
        if type(found) ~= 'string' then found = '' end
        if found == ARGV[a + 2] and redis.call('SREM', set, ARGV[a]) == 1 then
          gone = gone + 1
          local value = read(KEYS[i])
          if value and owner(value) == user then
            redis.call('DEL', KEYS[i])
            announceRemoval(ARGV[a], value, '\(RemovalCause.limit)')
            if ARGV[a + 1] ~= '' then redis.pcall('ZREM', KEYS[i + 1], ARGV[a]) end
          end
        end
        a = a + 3
      end
      return gone
    end

    """
}
