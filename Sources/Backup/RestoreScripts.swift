import EventLoop
import Redis
import Registry

/// The scripts that write entries of a backup.
///
/// A full Redis refuses the first write of each script, so each runs completely or not at all.
enum RestoreScripts {
  static let all = [restore, restoreInstances]

  /// Writes devices. Owners and bundle ids may be empty.
  ///
  /// KEYS for each device
  ///   1  the metadata
  ///   2  the owner's set
  ///   3  the audience's shard
  ///   4  the previous owner's set
  ///   5  the previous audience's shard
  /// ARGV
  ///   1  the seconds to live
  ///   2  how many devices a user may have without a look at their apps
  ///   then for each device
  ///   1  the token
  ///   2  the owner
  ///   3  the bundle id
  ///   4  the record
  ///   5  when it was updated, unix ms
  ///   6  the previous owner
  ///   7  the previous bundle id
  ///   8  1 if the device is admitted, however many the user has
  /// Returns for each device: 1 created, 2 replaced an older record, 0 the record in Redis stays, -1 a key holds another type,
  /// -2 the user's devices must be read first, or {previous owner, previous bundle id} if they differ from the arguments.
  static let restore = RedisScript(
    RegistryScripts.read + """
      local function restore(k, a)
        local token, user, app, record, at = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], tonumber(ARGV[a + 4])
        local value = read(KEYS[k])
        local owned, bundle = value and owner(value) or '', value and text(value.bundleId) or ''
        if value and (tonumber(value.updatedAt) or 0) >= at then return 0 end
        if user == '' and owned ~= '' then return 0 end
        if owned == user then owned = '' end
        if bundle == app then bundle = '' end
        if (owned ~= '' and owned ~= ARGV[a + 5]) or (bundle ~= '' and bundle ~= ARGV[a + 6]) then
          return {owned, bundle}
        end
        if user ~= '' and not fits(KEYS[k + 1], 'set') then return -1 end
        if app ~= '' and not fits(KEYS[k + 2], 'zset') then return -1 end
        if user ~= '' and ARGV[a + 7] ~= '1' and redis.call('SCARD', KEYS[k + 1]) >= tonumber(ARGV[2])
          and redis.call('SISMEMBER', KEYS[k + 1], token) == 0 then return -2 end
        redis.call('SET', KEYS[k], record, 'EX', ARGV[1])
        if user ~= '' then redis.call('SADD', KEYS[k + 1], token) end
        if app ~= '' then redis.call('ZADD', KEYS[k + 2], 0, token) end
        if owned ~= '' then redis.pcall('SREM', KEYS[k + 3], token) end
        if bundle ~= '' then redis.pcall('ZREM', KEYS[k + 4], token) end
        return value and 2 or 1
      end

      local replies = {}
      for i = 0, #KEYS / 5 - 1 do replies[i + 1] = restore(i * 5 + 1, i * 8 + 3) end
      return replies
      """)

  /// Writes instances.
  ///
  /// KEYS
  ///   …  the instances
  /// ARGV for each instance
  ///   1  the record
  ///   2  when it was updated, unix ms
  /// Returns for each instance: 1 created, 2 replaced an older record, 0 the record in Redis stays.
  static let restoreInstances = RedisScript(
    RegistryScripts.read + """
      local replies = {}
      for i, key in ipairs(KEYS) do
        local value = read(key)
        if value and (tonumber(value.updatedAt) or 0) >= tonumber(ARGV[i * 2]) then
          replies[i] = 0
        else
          redis.call('SET', key, ARGV[i * 2 - 1])
          replies[i] = value and 2 or 1
        end
      end
      return replies
      """)
}

/// A device to write, with its expected previous owner and app.
struct RestoredDevice: Sendable {
  let token: String
  let metadata: DeviceMetadata
  var previousOwner = ""
  var previousApp = ""
  /// Whether it was found to be among those that the user keeps.
  var isAdmitted = false

  /// The keys of ``RestoreScripts/restore``.
  var keys: [String] {
    let shard = AudienceShard.shard(of: token)
    return [
      RegistryKeys.token(token), RegistryKeys.userTokens(metadata.username),
      RegistryKeys.audience(metadata.bundleID ?? "", shard: shard), RegistryKeys.userTokens(previousOwner),
      RegistryKeys.audience(previousApp, shard: shard),
    ]
  }
}

/// Collects the replies to several scripts. Fails if one of them fails.
@EventLoop
final class ReplyGroup {
  private var replies: [RedisValue]
  private var error: RedisError?
  private var open: Int
  private let completion: @EventLoop (Result<[RedisValue], RedisError>) -> Void

  init(count: Int, completion: @escaping @EventLoop (Result<[RedisValue], RedisError>) -> Void) {
    replies = Array(repeating: .null, count: count)
    open = count
    self.completion = completion
  }

  func receive(_ number: Int, _ result: Result<RedisValue, RedisError>) {
    switch result {
    case .success(let value): replies[number] = value
    case .failure(let error): self.error = self.error ?? error
    }
    open -= 1
    if open == 0 { completion(error.map(Result.failure) ?? .success(replies)) }
  }
}
