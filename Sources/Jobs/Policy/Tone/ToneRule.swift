/// A rule of tone: contracts/nyra-apns-base-1.0.md, section 6.
public enum ToneRule: String, Sendable, CaseIterable {
  case calm = "not neutral and calm"
  case guilt
  case leverage = "emotional leverage"
  case urgency = "urgency inflation"
  case romance = "romantic or intimate language"
  case dependency = "dependency framing"
  case added = "a phrase that the policy file rules out"
}
