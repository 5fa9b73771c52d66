// Apple's frameworks behind the ports of RepriseCore, one adapter a port; it makes no decisions. On
// other systems it has limits alone.

// What an extension may use as well, such as URLSessionTransport.
@_exported public import RepriseExtension
