import RepriseCore
import RepriseWire

/// The tokens that a server started with `--dev` gives to whoever asks on its machine.
enum DevelopmentToken {
    /// Asks for one.
    ///
    /// - Returns: nil if the server gives none: then it asks nobody who he is, or refuses in words of its own.
    /// - Throws: ``RepriseError`` `.unreachable`, `.notReprise`.
    static func fetch(for user: UserID, from server: String) async throws -> AccessToken? {
        let api = ServerAPI(server: server, identity: .nobody(server))
        do {
            let answer = try await api.send(
                "GET", ["v1", "dev", "token"], query: ["user": user.text])
            return try answer?.text("token").map { try AccessToken($0) }
        } catch is CommandFailure {
            return nil
        } catch let error as RepriseError where error.code == .notReprise {
            // A server without this path answers 404 without a body of ours.
            return nil
        }
    }
}
