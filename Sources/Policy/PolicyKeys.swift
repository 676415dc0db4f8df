/// The Redis keys of delivery policies.
package enum PolicyKeys {
  /// String with a TTL: what a policy remembers of an instance, ``PolicyState``.
  package static func state(_ policy: String, instance: String) -> String { "martlet:{policy}:\(policy):\(instance)" }
}
