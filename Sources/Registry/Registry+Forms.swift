import EventLoop
public import Redis

extension Registry {
  /// Unites entries of a set that are other forms of tokens with the tokens. Returns the entries with the tokens in their place.
  public func unite(_ entries: [[UInt8]]) async throws(RedisError) -> [[UInt8]] { try await executor.unite(entries) }

  /// Passes the resolutions on; before, those that have met other forms of tokens find their devices again, united.
  func unite(
    _ resolutions: [Resolution], of queries: [DeviceQuery], _ completion: @escaping @EventLoop ([Resolution]) -> Void
  ) {
    let open = resolutions.indices.filter { !resolutions[$0].otherForms.isEmpty }
    guard !open.isEmpty else { return completion(resolutions) }
    EventLoop.start { [self] in
      var resolutions = resolutions
      for index in open {
        do throws(RedisError) {
          _ = try await executor.unite(resolutions[index].otherForms)
          resolutions[index] = await resolve(queries[index])
        } catch {
          resolutions[index] = Resolution(error: error)
        }
      }
      completion(resolutions)
    }
  }
}

extension Resolution {
  fileprivate var otherForms: [[UInt8]] { removals.filter { $0.reason == .otherForm }.map(\.entry) }
}
