public import Observation
public import Reprise

/// What the forms' web view is doing, for a screen.
///
/// ```swift
/// struct Player: View {
///     let forms: FormsStateModel                         // client.formsModel
///
///     var body: some View { Video(isPaused: forms.form != nil) }
/// }
/// ```
///
/// It goes on with the next account. Without `configuration.forms` it stays `idle`.
@MainActor @Observable
public final class FormsStateModel {
    /// What the feature is doing.
    public private(set) var state: FormsState = .idle
    /// The form that is over the app's screen; nil: none.
    public var form: String? { if case .showing(let form) = state { form } else { nil } }
    /// Whether an event is shown to the page at once; otherwise it waits in the journal.
    public var isReady: Bool {
        switch state {
        case .ready, .showing: true
        case .idle, .opening, .handshaking, .waitingForCatalogue, .stalled, .incompatible: false
        }
    }

    @ObservationIgnored private let client: RepriseClient
    @ObservationIgnored private let watches = Watches()

    /// Makes the model, and begins to watch; see `client.formsModel`.
    public init(_ client: RepriseClient) {
        self.client = client
        watches.follow(
            accountsOf: client, for: self, { try await $0.forms.states }, { $0.state = $1 })
    }

    /// Takes the form away that is on the screen, as its close button does.
    public func dismiss() { Task { [client] in try await client.forms.dismiss() } }
}
