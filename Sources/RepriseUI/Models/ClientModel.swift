public import Observation
public import Reprise

/// A client for a screen: who is signed in, and what has become of its journal and its connection.
///
/// ```swift
/// struct Banner: View {
///     let model: ClientModel                        // client.model
///
///     var body: some View {
///         if let problem = model.problem { Text(problem.message) }
///         if !model.isConnected { Text("Connecting…") }
///     }
/// }
/// ```
///
/// Below `.reprise(client)`, `@Environment(ClientModel.self)` has it, too.
@MainActor @Observable
public final class ClientModel {
    /// The client.
    public let client: RepriseClient
    /// Whether the journal is open, waits for the disk, or has failed.
    public private(set) var state: ClientState
    /// The connection to the server.
    public private(set) var connection: ConnectionState = .idle
    /// The signed-in user; nil: nobody.
    public var user: UserID? { if case .open(let user) = state { user } else { nil } }
    /// Whether the server has welcomed this device.
    public var isConnected: Bool {
        switch connection {
        case .connected, .expiring: true
        case .idle, .connecting, .stuck, .waiting, .offline, .suspended, .stopped: false
        }
    }
    /// What has to be told to a person, or mended by a programmer; nil: nothing.
    public var problem: RepriseError? {
        switch state {
        case .waiting(let error), .failed(let error): error
        case .idle, .opening, .open, .closed: nil
        }
    }

    @ObservationIgnored private let watches = Watches()

    /// Makes the model of a client, and begins to watch it; see `client.model`.
    public init(_ client: RepriseClient) {
        self.client = client
        state = client.state
        watches.follow(client.states, for: self) { $0.state = $1 }
        watches.follow(client.connectionStates, for: self) { $0.connection = $1 }
    }
}
