import EventLoop
import Jobs
import Registry

extension Delivery {
  /// The question to the registry; nil for a broadcast, which asks page by page.
  var query: DeviceQuery? {
    switch job.addressee {
    case .user(let name): .user(name)
    case .userToken(let name, let token): .userToken(user: name, token: token)
    case .token(let token): .token(token)
    case .tokens(let tokens): .tokens(Delivery.distinct(tokens))
    case .instance(let id): .instance(id)
    case .app: nil
    }
  }

  /// In their order: a device gets a job once, however often it is named.
  private static func distinct(_ tokens: [String]) -> [String] {
    var seen: Set<String> = []
    return tokens.filter { seen.insert($0).inserted }
  }
}
