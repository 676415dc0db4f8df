/// A rule of tone: docs/policy.md, Tone.
public enum ToneRule: String, Sendable, CaseIterable {
  case calm = "not neutral and calm"
  case guilt
  case leverage = "emotional leverage"
  case urgency = "urgency inflation"
  case romance = "romantic or intimate language"
  case dependency = "dependency framing"
  case added = "a phrase that the policy file rules out"
}
