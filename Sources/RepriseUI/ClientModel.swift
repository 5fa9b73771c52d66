public import Observation
public import Reprise

/// A client for a screen: who is signed in, and what has become of its journal and its connection.
@MainActor @Observable
public final class ClientModel {
    /// The client.
    public let client: RepriseClient
    /// What has become of the journal.
    public private(set) var state: ClientState
    /// The connection to the server.
    public private(set) var connection: ConnectionState = .idle
    /// The signed-in user; nil: nobody.
    public var user: UserID? { if case .open(let user) = state { user } else { nil } }
    /// What has to be told to a person, or mended by a programmer; nil: nothing.
    public var problem: RepriseError? {
        switch state {
        case .waiting(let error), .failed(let error): error
        case .idle, .opening, .open, .closed: nil
        }
    }

    @ObservationIgnored private var watches: [Task<Void, Never>] = []

    /// Makes the model of a client, and begins to watch it.
    public init(_ client: RepriseClient) {
        self.client = client
        state = client.state
        let (states, connections) = (client.states, client.connectionStates)
        watches = [
            Task { @MainActor [weak self] in
                for await state in states { self?.state = state }
            },
            Task { @MainActor [weak self] in
                for await connection in connections { self?.connection = connection }
            },
        ]
    }

    isolated deinit { for watch in watches { watch.cancel() } }
}
