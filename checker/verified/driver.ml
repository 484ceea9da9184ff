(* Reads a network and its items as verified_check.py writes them, asks the extracted [judge] about each item, and
   prints what was read, counted on this side. Exit code 0: every item gets its labels; 1: not; 2: not readable. *)
module Integer = Z
open Core

let word () = Scanf.scanf " %s" (fun s -> s)
let int () = int_of_string (word ())
let integer () = Integer.of_string (word ())

(* The naturals of the extracted program are lists of strokes: each is built once. *)
let strokes = ref [| O |]
let nat k =
  if k < 0 || k > 1 lsl 24 then failwith "an index is too large";
  let known = Array.length !strokes in
  if k >= known then begin
    let more = Array.make (max (k + 1) (2 * known)) O in
    Array.blit !strokes 0 more 0 known;
    for i = known to Array.length more - 1 do more.(i) <- S more.(i - 1) done;
    strokes := more
  end;
  !strokes.(k)
let index () = nat (int ())

let many read =
  let rec go n list = if n = 0 then List.rev list else let x = read () in go (n - 1) (x :: list) in
  let n = int () in
  if n < 0 then failwith "a length is negative";
  go n []
let optional read = if int () = 1 then Some (read ()) else None

let parameters = ref 0
let number () = let mantissa = integer () in let exponent = integer () in { mantissa; exponent }
let counted () =
  let d = number () in
  if not (Integer.equal d.mantissa Integer.zero) then incr parameters;
  d
let row () = many (fun () -> let j = index () in let d = counted () in (j, d))
let rows () = many row
let biased () = many (fun () -> let b = counted () in let r = row () in (b, r))
let vector () = many number

let layer () =
  let kind = word () in
  let d = index () in
  match kind with
  | "linear" -> Linear (d, biased ())
  | "embedding" ->
      let table = many (fun () -> many counted) in
      let position = optional (fun () -> many counted) in
      Embedding (d, table, position)
  | "relu" -> Relu (d, biased ())
  | "feed_forward" -> let w1 = biased () in let w2 = biased () in FeedForward (d, w1, w2)
  | "uniform_attention" -> let v = rows () in let o = rows () in UniformAttention (d, v, o)
  | "sparse_attention" ->
      let sources = many (fun () -> many index) in
      let v = rows () in
      let o = rows () in
      SparseAttention (d, sources, v, o)
  | "hard_attention" ->
      let head () =
        let w_Q = rows () in
        let w_K = rows () in
        let w_V = rows () in
        let w_O = rows () in
        { w_Q; w_K; w_V; w_O } in
      HardAttention (d, many head)
  | "sum" -> Sum d
  | _ -> failwith "a kind of layer is unknown"

let network () =
  let dimension = index () in
  let longest = index () in
  let padding = optional vector in
  let extra = optional vector in
  let positions = int () = 1 in
  let every = int () = 1 in
  let labels = integer () in
  let layers = many layer in
  { dimension; longest; padding; extra; positions; every; labels; layers }

let () =
  try
    let net = network () in
    Printf.printf "layers %d\nparameters %d\n%!" (List.length net.layers) !parameters;
    let accepts =
      match judge net with Some f -> f | None -> failwith "the tensors do not fit together" in
    let sequences = int () and tokens = ref 0 and labels = ref 0 in
    let right = ref 0 and correct = ref 0 in
    let wrong = ref [] in
    for i = 0 to sequences - 1 do
      let own = many vector in
      let ys = many integer in
      tokens := !tokens + List.length own;
      labels := !labels + List.length ys;
      if accepts (own, ys) then (incr right; correct := !correct + List.length ys)
      else if List.length !wrong < 10 then wrong := i :: !wrong
    done;
    if word () <> "end" then failwith "the input does not end";
    Printf.printf "sequences %d\ntokens %d\nlabels %d\nright %d\ncorrect %d\nwrong%s\n" sequences !tokens
      !labels !right !correct
      (String.concat "" (List.rev_map (Printf.sprintf " %d") !wrong));
    exit (if !right = sequences && sequences > 0 then 0 else 1)
  with
  | Failure m | Invalid_argument m -> prerr_endline m; exit 2
  | End_of_file | Scanf.Scan_failure _ -> prerr_endline "the input ends early"; exit 2
  | Out_of_memory | Stack_overflow -> prerr_endline "the evaluation needs too much memory"; exit 2
