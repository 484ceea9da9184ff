(* OCaml from the program. Integers become Zarith's. What land, log2, shift right and division give is a hint: the
   program checks it, so of Zarith only addition, subtraction, multiplication, shifts to the left and comparisons are
   trusted. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ZArith.
From Byheart Require Import Spec Evaluate.
Extract Constant Z.land => "Z.logand".
Extract Constant Z.log2 => "(fun x -> if Z.sign x <= 0 then Z.zero else Z.of_int (Z.numbits x - 1))".
Extract Constant Z.leb => "Z.leq".
Extract Constant Z.ltb => "Z.lt".
Extraction "core.ml" judge.
