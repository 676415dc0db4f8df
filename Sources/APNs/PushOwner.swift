/// Whose device a push goes to, as far as the mass-removal guard must tell owners apart.
public struct PushOwner: Sendable, Equatable {
  let hash: Int

  public static func user(_ name: String) -> PushOwner { PushOwner(hash: name.hashValue) }

  public static func instance(_ id: String) -> PushOwner {
    var hasher = Hasher()
    hasher.combine("instance")
    hasher.combine(id)
    return PushOwner(hash: hasher.finalize())
  }
}
