import Reprise

private func figures(_ client: RepriseClient) async throws {
    let diagnostics = try await client.diagnostics()
    print(diagnostics.connection.state, diagnostics.waiting, diagnostics.ledger.pending)
}
