// What Apple's frameworks do behind the ports of RepriseCore: URLSessionDialer, SystemNetwork, SystemAppLife. No decisions are made here.
// On other systems the module is empty.
