public import Redis

/// A script that makes events in the same atomic step as its changes, if there is a stream for them.
///
/// The source may call `emit(type, data)` with a table of texts, if `emit` is not nil. If there is a stream, it is one more
/// key, behind those of the source, which does not see it.
public struct EventfulScript: Sendable {
  /// Without events.
  public let plain: RedisScript
  /// With events. Returns an ``EventfulReply``.
  public let emitting: RedisScript

  public init(_ source: String) {
    plain = RedisScript("local emit = nil\n" + source)
    emitting = RedisScript(EventfulScript.beginning + source + EventfulScript.end)
  }

  /// Lua: `format(type, data)` returns an event.
  package static let formatting = """
    local function format(kind, data)
      local time = redis.call('TIME')
      local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
      return '{"type":"' .. kind .. '","at":' .. at .. ',"data":' .. cjson.encode(data) .. '}'
    end

    """

  private static let beginning =
    formatting + """
      local stream, written, refusal = table.remove(KEYS), {}, ''
      local function emit(kind, data)
        local event = format(kind, data)
        local reply = \(EventStream.append(to: "stream", "event"))
        if type(reply) == 'table' and reply.err then refusal = reply.err else written[#written + 1] = kind end
      end
      local function change()

      """

  // The error of a script is the whole reply: the caller handles it as without events.
  private static let end = """

    end
    local reply = change()
    if type(reply) == 'table' and reply.err then return reply end
    if reply == nil then reply = false end
    return {reply, refusal, unpack(written)}
    """

  /// Lua functions for scripts that change devices; they need `owner` and `text` of the registry. They make the events of
  /// ``Event/change(of:from:at:)`` and ``Event/removed(_:reason:at:)``.
  package static let devices = """
    local function facts(token, value)
      local facts = {token = token}
      local known = {
        user = owner(value), app = text(value.bundleId), environment = text(value.environment),
        platform = text(value.platform),
      }
      for name, content in pairs(known) do if content ~= '' then facts[name] = content end end
      return facts
    end
    local function announce(token, before, after)
      if not emit then return end
      local data, was = facts(token, after), before and facts(token, before) or {}
      if was.user and was.user ~= data.user then
        data.from, data.to, data.user = was.user, data.user, nil
        return emit('token.transferred', data)
      end
      for _, name in ipairs({'token', 'user', 'app', 'environment', 'platform'}) do
        if was[name] ~= data[name] then return emit('token.registered', data) end
      end
    end
    local function announceRemoval(token, value, reason, instance)
      if not emit then return end
      local data = facts(token, value)
      data.reason, data.instance = reason, instance
      emit('token.removed', data)
    end

    """
}

/// The reply of a script that made events.
struct EventfulReply {
  /// The reply of the script itself.
  let reply: RedisValue
  /// Why an event was not written; nil if all were.
  let refusal: String?
  let written: [EventType]

  /// Returns nil if `value` is not such a reply.
  init?(_ value: RedisValue) {
    guard let parts = value.array, parts.count >= 2, let refusal = parts[1].string else { return nil }
    reply = parts[0]
    self.refusal = refusal.isEmpty ? nil : refusal
    written = parts.dropFirst(2).compactMap { $0.string.flatMap(EventType.init) }
  }
}
